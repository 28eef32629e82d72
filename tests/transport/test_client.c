/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The outcome of a call for its caller, for many replies of a server. Each server sends a few fixed
 * bytes on the connection of the call.
 */
#include "tests/transport/scripted_server.c" /* NOLINT(bugprone-suspicious-include) */

#define REPLIES(after, ...) SCRIPT(after, SAY(0, SETTINGS), SAY(1, __VA_ARGS__))
#define SAID(m, value)      GRPC_STATUS(m, value) FIELD("\x0c", "grpc-message", "\6", "status")
#define AT_ONCE(after, ...) SCRIPT(after, SAY(0, __VA_ARGS__))

static const struct {
	const char *name;
	struct script script;
	enum error_code code;
} scripts[] = {
	{"answers OK", REPLIES(LEAVE, ANSWER), ERR_OK},
	{"answers in padded pieces",
	 REPLIES(LEAVE,
		 HEAD("\1", OPEN) STATUS_200 DATA("\3", "\x8") "\1\0\0" DATA("\0", "\0")
			 DATA("\4", "\0") "\0\0\0\0" HEAD("\xf", END) GRPC_STATUS("\1", "0")),
	 ERR_OK},
	{"interim responses first",
	 REPLIES(LEAVE, HEAD("\5", OPEN) STATUS("103") HEAD("\5", OPEN) STATUS("100") ANSWER),
	 ERR_OK},
	{"resets after the answer", REPLIES(STAY, ANSWER RESET("\0")), ERR_OK},
	{"interim response last", REPLIES(LEAVE, HEAD("\5", END) STATUS("103")), ERR_INTERNAL},
	{"trailers only", REPLIES(LEAVE, HEAD("\x25", END) STATUS_200 SAID("\1", "5")),
	 ERR_NOT_FOUND},
	{"OK without a message",
	 REPLIES(LEAVE, HEAD("\x10", END) STATUS_200 GRPC_STATUS("\1", "0")), ERR_INTERNAL},
	{"unknown status", REPLIES(LEAVE, HEAD("\x26", END) STATUS_200 SAID("\2", "17")),
	 ERR_UNKNOWN},
	{"status of letters", REPLIES(LEAVE, HEAD("\x26", END) STATUS_200 SAID("\2", "OK")),
	 ERR_UNKNOWN},
	{"half a message",
	 REPLIES(LEAVE, HEAD("\1", OPEN) STATUS_200 DATA("\3", "\0") "\0\0\0" HEAD("\xf", END)
				GRPC_STATUS("\1", "0")),
	 ERR_INTERNAL},
	{"two messages",
	 REPLIES(LEAVE, HEAD("\1", OPEN) STATUS_200 DATA("\xa", "\0") EMPTY EMPTY HEAD("\xf", END)
				GRPC_STATUS("\1", "0")),
	 ERR_INTERNAL},
	{"compressed message",
	 REPLIES(STAY, HEAD("\1", OPEN) STATUS_200 DATA("\5", "\0") "\1\0\0\0\0"), ERR_INTERNAL},
	{"huge message",
	 REPLIES(STAY, HEAD("\1", OPEN) STATUS_200 DATA("\5", "\0") "\0\xff\xff\xff\xff"),
	 ERR_RESOURCE_EXHAUSTED},
	{"no protobuf",
	 REPLIES(LEAVE, HEAD("\1", OPEN) STATUS_200 DATA("\6", "\0") "\0\0\0\0\1\xff" HEAD(
				"\xf", END) GRPC_STATUS("\1", "0")),
	 ERR_INTERNAL},
	{"ends without a status",
	 REPLIES(LEAVE, HEAD("\1", OPEN) STATUS_200 DATA("\5", "\1") EMPTY), ERR_UNKNOWN},
	{"HTTP 503", REPLIES(LEAVE, HEAD("\5", END) STATUS("503")), ERR_UNAVAILABLE},
	{"HTTP 429", REPLIES(LEAVE, HEAD("\5", END) STATUS("429")), ERR_UNAVAILABLE},
	{"HTTP 404", REPLIES(LEAVE, HEAD("\5", END) STATUS("404")), ERR_UNIMPLEMENTED},
	{"HTTP 403", REPLIES(LEAVE, HEAD("\5", END) STATUS("403")), ERR_PERMISSION_DENIED},
	{"HTTP 401", REPLIES(LEAVE, HEAD("\5", END) STATUS("401")), ERR_UNAUTHENTICATED},
	{"HTTP 431", REPLIES(LEAVE, HEAD("\5", END) STATUS("431")), ERR_INTERNAL},
	{"HTTP 418", REPLIES(LEAVE, HEAD("\5", END) STATUS("418")), ERR_UNKNOWN},
	{"a status in spite of HTTP 503",
	 REPLIES(LEAVE, HEAD("\x29", END) STATUS("503") SAID("\1", "5")), ERR_NOT_FOUND},
	{"no HTTP status", REPLIES(LEAVE, HEAD("\xf", END) GRPC_STATUS("\1", "0")), ERR_INTERNAL},
	{"message before the head", REPLIES(STAY, DATA("\5", "\0") EMPTY), ERR_INTERNAL},
	{"another head amid the message",
	 REPLIES(STAY, HEAD("\1", OPEN) STATUS_200 DATA("\5", "\0") EMPTY HEAD("\xf", OPEN)
			       GRPC_STATUS("\1", "0")),
	 ERR_INTERNAL},
	{"upper case field", REPLIES(LEAVE, HEAD("\6", END) STATUS_200 FIELD("\1", "X", "\1", "1")),
	 ERR_INTERNAL},
	{"answers on another stream", REPLIES(STAY, HEAD_ON("\7", "\1", END) STATUS_200),
	 ERR_INTERNAL},
	{"cancels", REPLIES(STAY, RESET("\x8")), ERR_CANCELLED},
	{"cancels after the head", REPLIES(STAY, HEAD("\1", OPEN) STATUS_200 RESET("\x8")),
	 ERR_CANCELLED},
	{"cancels amid the message",
	 REPLIES(STAY, HEAD("\1", OPEN) STATUS_200 DATA("\3", "\0") "\0\0\0" RESET("\x8")),
	 ERR_CANCELLED},
	{"cancels after the message",
	 REPLIES(STAY, HEAD("\1", OPEN) STATUS_200 DATA("\5", "\0") EMPTY RESET("\x8")),
	 ERR_CANCELLED},
	{"resets without an error",
	 REPLIES(STAY, HEAD("\1", OPEN) STATUS_200 DATA("\5", "\0") EMPTY RESET("\0")),
	 ERR_INTERNAL},
	{"protocol error", REPLIES(STAY, RESET("\1")), ERR_INTERNAL},
	{"enhance your calm", REPLIES(STAY, RESET("\xb")), ERR_RESOURCE_EXHAUSTED},
	{"inadequate security", REPLIES(STAY, RESET("\xc")), ERR_PERMISSION_DENIED},
	{"goaway, then leaves", REPLIES(LEAVE, GOAWAY("\1", "\0")), ERR_UNAVAILABLE},
	{"leaves", REPLIES(LEAVE, SETTINGS), ERR_UNAVAILABLE},
	{"leaves after the head", REPLIES(LEAVE, HEAD("\1", OPEN) STATUS_200), ERR_UNAVAILABLE},
	{"leaves in a frame", REPLIES(LEAVE, HEAD("\x10", END) STATUS_200 "\0"), ERR_UNAVAILABLE},
	{"garbage", REPLIES(STAY, "\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7\xf6"), ERR_INTERNAL},
	{"does not answer", REPLIES(STAY, ""), ERR_DEADLINE_EXCEEDED},
	{"does not answer after the head", REPLIES(STAY, HEAD("\1", OPEN) STATUS_200),
	 ERR_DEADLINE_EXCEEDED},
	{"half a frame", REPLIES(STAY, HEAD("\x10", END) STATUS_200), ERR_DEADLINE_EXCEEDED},
	{"reads nothing", REPLIES(STAY_UNREAD, ""), ERR_DEADLINE_EXCEEDED},
	/* The call is never sent in the following cases. */
	{"leaves at once", AT_ONCE(LEAVE, ""), ERR_UNAVAILABLE},
	{"no SETTINGS", AT_ONCE(STAY, ""), ERR_UNAVAILABLE},
	{"half of SETTINGS", AT_ONCE(STAY, "\0\0\0\4"), ERR_UNAVAILABLE},
	{"goaway at once", AT_ONCE(STAY, SETTINGS GOAWAY("\0", "\0")), ERR_UNAVAILABLE},
	{"garbage at once", AT_ONCE(STAY, "\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7"), ERR_UNAVAILABLE},
	{"HTTP/1.1", AT_ONCE(STAY, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"),
	 ERR_UNAVAILABLE},
};

static void every_reply_has_its_outcome(void **state)
{
	(void)state;
	struct error err;

	for (size_t i = 0; i < COUNT(scripts); i++) {
		bool silent = scripts[i].code == ERR_DEADLINE_EXCEEDED;
		assert_int_equal(scripted_start(NULL), 0);
		play(&scripts[i].script, 1);
		enum error_code code = ask(silent ? 100 : PATIENCE * 1000, &err);
		if (code != scripts[i].code)
			print_error("%s: %s: %s\n", scripts[i].name, error_name(code), err.text);
		assert_int_equal(code, scripts[i].code);
		assert_true(code == ERR_OK || strstr(err.text, ends.endpoint) ||
			    strstr(err.text, "GetHostResponse") || strstr(err.text, "status"));
		assert_int_equal(scripted_stop(NULL), 0);
	}
}

/* If a server sends too much, the client closes the connection and its calls fail. */
static void flood_ends_the_connection(void **state)
{
	(void)state;
	static const char ping[] = FRAME("\x8", "\6", "\0", "\0") "abcdefgh";
	/* limits of the client for PINGs; nghttp2's own limit is between the two */
	static const unsigned limits[] = {1000, 50};
	static char flood[1 + 200 * (sizeof(ping) - 1)];
	struct error err;

	for (size_t i = 0; i + sizeof(ping) <= sizeof(flood); i += sizeof(ping) - 1)
		memcpy(flood + i, ping, sizeof(ping));
	PLAY(REPLIES(STAY, flood));
	for (unsigned i = 1; i <= COUNT(limits); i++) {
		ends.limits.pings = limits[i - 1];
		assert_int_equal(ask(PATIENCE * 1000, &err), ERR_UNAVAILABLE);
		assert_non_null(strstr(err.text, "may have been carried out"));
		assert_int_equal(ends.n_requests, i);
	}
}

/* The header list has five times the same field, of 4030 bytes as RFC 9113 counts. Four of them are
 * references to the dynamic table, of one byte each. */
static void huge_head_is_refused(void **state)
{
	(void)state;
	enum { SIZE = 3997 };
	static const char head[] = FRAME("\0", "\1", OPEN, "\1") STATUS_200 "\x40\1x\x7f\x9e\x1e";
	static const char again[] = "\xbe\xbe\xbe\xbe";
	static char frame[sizeof(head) + SIZE + sizeof(again) - 1];
	size_t n = sizeof(frame) - 1 - 9;
	struct error err;

	memset(frame, 'v', sizeof(frame));
	memcpy(frame, head, sizeof(head) - 1);
	memcpy(frame + sizeof(head) - 1 + SIZE, again, sizeof(again));
	frame[1] = (char)(n >> 8);
	frame[2] = (char)n;
	PLAY(REPLIES(STAY, frame));
	assert_int_equal(ask(PATIENCE * 1000, &err), ERR_RESOURCE_EXHAUSTED);
	assert_non_null(strstr(err.text, "header list"));
}

struct block {
	struct looper_task task;
	sem_t over;
};

static void await_over(void *block)
{
	wait_for(&((struct block *)block)->over);
}

/* Block the loop from the moment when it runs the task of the block until block->over is posted. */
static void post_block(struct block *block)
{
	*block =
		(struct block){.task = {.task.fn = looper_on_task, .fn = await_over, .arg = block}};
	sem_init(&block->over, 0, 0);
	sem_init(&block->task.ran, 0, 0);
	loop_post(ends.looper.loop, &block->task.task);
}

/* A call is sent, then the loop is blocked until both the server's CANCELLED and the deadline have
 * come. */
static void assert_late_cancel_is_deadline(void)
{
	static struct block before, after;
	struct error err;

	assert_int_equal(ask(PATIENCE * 1000, &err), ERR_OK);
	post_block(&before);
	int64_t deadline = now_ms() + 200;
	struct client_call *call = begin(200);
	post_block(&after);
	sem_post(&before.over);
	await_count(&ends.n_requests, 2);
	while (time_left_ms(deadline) > 0)
		usleep(1000);
	sem_post(&after.over);
	assert_int_equal(finish(call, &err), ERR_DEADLINE_EXCEEDED);
	assert_non_null(strstr(err.text, "CANCEL"));
}

static void late_reset_is_deadline(void **state)
{
	(void)state;
	PLAY(SCRIPT(STAY, SAY(0, SETTINGS), SAY(1, ANSWER), SAY(2, RESET_ON("\3", "\x8"))));
	assert_late_cancel_is_deadline();
}

static void late_status_is_deadline(void **state)
{
	(void)state;
	PLAY(SCRIPT(STAY, SAY(0, SETTINGS), SAY(1, ANSWER),
		    SAY(2, HEAD_ON("\3", "\x25", END) STATUS_200 GRPC_STATUS("\1", "1")
				   FIELD("\x0c", "grpc-message", "\6", "CANCEL"))));
	assert_late_cancel_is_deadline();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scripted_start, scripted_stop)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reply_has_its_outcome),
		TEST(flood_ends_the_connection),
		TEST(huge_head_is_refused),
		TEST(late_reset_is_deadline),
		TEST(late_status_is_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
