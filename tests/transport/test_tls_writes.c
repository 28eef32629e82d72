/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The cost of sending much over TLS: large frames are encrypted where nghttp2 made them, into full
 * records, and a buffer full of records is written by one system call.
 */
#include "tests/transport/tls_ends.c" /* NOLINT(bugprone-suspicious-include): see tls_ends.c */

#include "transport/tls_session.h"

#define ANSWER ((size_t)4000000) /* bytes of the answer; less than the windows of the client */

static struct end server, client;

/* The server's work for one answer. Used by the thread of the server's loop, and by the test while
 * the loop is idle. */
static struct {
	size_t gathered;  /* bytes that were copied into the shared buffer before encryption */
	size_t in_place;  /* bytes that were encrypted without a copy */
	unsigned partial; /* frames encrypted in place that do not fill their last record */
	size_t left;      /* bytes that the socket did not accept from the last buffer */
	unsigned short_sends;
} work;

static bool is_server(void)
{
	return pthread_equal(pthread_self(), server.looper.thread);
}

int __real_tls_session_write(struct tls_session *session, const uint8_t *bytes, size_t n,
			     struct error *err);
int __wrap_tls_session_write(struct tls_session *session, const uint8_t *bytes, size_t n,
			     struct error *err);
int __wrap_tls_session_write(struct tls_session *session, const uint8_t *bytes, size_t n,
			     struct error *err)
{
	if (is_server() && bytes == loop_buffers(server.looper.loop)->raw) {
		work.gathered += n;
	} else if (is_server()) {
		work.in_place += n;
		work.partial += n % SSL3_RT_MAX_PLAIN_LENGTH != 0;
	}
	return __real_tls_session_write(session, bytes, n, err);
}

ssize_t __real_send(int fd, const void *bytes, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags)
{
	ssize_t sent = __real_send(fd, bytes, n, flags);

	if (is_server()) {
		work.short_sends += n < LOOP_BUFFER && n != work.left;
		work.left = sent < 0 ? n : n - (size_t)sent;
	}
	return sent;
}

static void forget(void *arg)
{
	(void)arg;
	memset(&work, 0, sizeof(work));
}

static void start(uint32_t frame)
{
	struct error err;

	assert_int_equal(end_trust(&server, "ca", "a", &err), 0);
	assert_int_equal(end_trust(&client, "ca", "a", &err), 0);
	server.limits.frame = client.limits.frame = frame;
	server_start(&server);
	looper_do(&server.looper, forget, NULL); /* wait until looper.thread is set */
	client.limits.wait_ms = PATIENCE * 1000;
	client.limits.stream_window = client.limits.connection_window = 8 << 20;
	client_start(&client, NULL, server.port);
	assert_int_equal(ask(&client, &err), ERR_OK);
	looper_do(&server.looper, forget, NULL);
}

/* Call for a large answer, and check that it is complete and by what writes it was sent. */
static void answer_with_frames_of(uint32_t frame)
{
	ListDatasetsResponse *response;
	struct error err;

	start(frame);
	ListDatasetsRequest *request = new_list_datasets_request(&client.arena);
	request->max = (int)ANSWER;
	struct client_call *call =
		client_begin(client.client, &client.arena, &zcsi__v1__agent__descriptor,
			     "ListDatasets", &request->base, now_ms() + PATIENCE * 1000);
	assert_int_equal(client_finish(call, &response, &err), 0);
	assert_int_equal(strspn(response->datasets[0]->parameters, "x"), ANSWER);
	client_stop(&client);
	server_stop(&server);
	assert_in_range(work.in_place, ANSWER - frame, ANSWER + ANSWER / 1000);
	assert_in_range(work.gathered, 1, frame);
	assert_int_equal(work.partial, 0);
	/* short are only the last write of the answer, and those at the end of the connection */
	assert_in_range(work.short_sends, 1, 8);
}

static void large_answers_fill_records_and_buffers(void **state)
{
	(void)state;
	answer_with_frames_of(limits_default.frame);
	answer_with_frames_of(limits_bulk.frame);
}

static int make_certificates(void **state)
{
	static const struct certificate certificates[] = {
		{.name = "ca", .is_ca = true},
		{.name = "a", .names = "IP:127.0.0.1", .issuer = "ca"}};

	(void)state;
	certificates_make(certificates, COUNT(certificates));
	return 0;
}

static int remove_certificates(void **state)
{
	(void)state;
	certificates_remove();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_answers_fill_records_and_buffers),
	};

	return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
