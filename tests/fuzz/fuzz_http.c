/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A client of the monitoring pages that sends anything. It gets at most one reply, which is
 * complete unless the client itself cut it off, and whose Content-Length is that of its body.
 * Whatever the client does, its connection is closed in time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/world.h"
#include "transport/http.h"

#define BODY_MAX  5000
#define REPLY_MAX (BODY_MAX + 1000)
#define CLIENT_MS 10000

static struct {
	struct loop *loop;
	struct http *http;
	struct world_socket *listener, *client;
	struct input input;
	char reply[REPLY_MAX + 1];
	size_t n_reply;
	bool done_reading; /* the client did not read all at once, or closed */
} ends;

static int write_small(FILE *out, void *arg)
{
	(void)arg;
	fputs("small\n", out);
	return 0;
}

static int write_large(FILE *out, void *arg)
{
	(void)arg;
	for (int i = 0; i < BODY_MAX; i++)
		fputc('x', out);
	return 0;
}

static int write_problem(FILE *out, void *arg)
{
	(void)arg;
	fputs("not yet\n", out);
	return -1;
}

static const struct http_page pages[] = {
	{"/a", "text/plain", write_small},
	{"/large", "text/plain", write_large},
	{"/problem", "text/plain", write_problem},
	{NULL, NULL, NULL},
};

static void on_data(struct world_socket *socket, const uint8_t *bytes, size_t n)
{
	(void)socket;
	MUST(ends.n_reply + n <= REPLY_MAX);
	memcpy(ends.reply + ends.n_reply, bytes, n);
	ends.n_reply += n;
}

static void start(void)
{
	struct error err;

	MUST(loop_new(&ends.loop, &err) == 0);
	MUST(http_new(&ends.http, ends.loop, "tcp://127.0.0.1:1", false, pages, NULL, &err) == 0);
	for (unsigned i = 0; !ends.listener || !ends.listener->listens; i++)
		ends.listener = world_socket(i);
}

static void connect_client(void)
{
	unsigned i = 0;

	*world_expect() = (struct world_socket){.room = SIZE_MAX, .on_data = on_data};
	while (world_socket(i))
		i++;
	ends.listener->n_waiting = 1;
	world_turn();
	ends.client = world_socket(i);
}

/* Run the action that the decision chooses. */
static void act(uint8_t decision)
{
	static const size_t room[] = {0, 1, 7, 100, 1000, SIZE_MAX};
	static const int64_t ms[] = {1, 100, 5000, 9999};
	unsigned amount = decision >> 2;
	size_t n = amount < 32 ? amount + 1 : 64 * (size_t)(amount - 31);
	const uint8_t *bytes = input_take(&ends.input, decision & 3 ? 0 : n, &n);

	if (ends.client->n_incoming == 0)
		ends.client->incoming = bytes;
	ends.client->n_incoming += n;
	if ((decision & 3) == 1)
		ends.client->room = room[amount % COUNT(room)];
	if ((decision & 3) == 2)
		world_pass(ms[amount % COUNT(ms)]);
	if ((decision & 3) == 3)
		ends.client->failure = ECONNRESET;
	ends.done_reading |= decision & 1;
	world_turn();
}

static void check_reply(void)
{
	unsigned status;
	size_t length;

	ends.reply[ends.n_reply] = '\0';
	const char *body = strstr(ends.reply, "\r\n\r\n");
	if (!body)
		return;
	body += 4;
	MUST(sscanf(ends.reply, "HTTP/1.1 %3u ", &status) == 1);
	MUST(status == 200 || status == 503 || (status >= 400 && status <= 431));
	const char *line = strstr(ends.reply, "\r\nContent-Length: ");
	MUST(line && sscanf(line, "\r\nContent-Length: %zu\r\n", &length) == 1);
	MUST(strlen(body) <= length);
	MUST(strlen(body) == length || strlen(body) == 0 || ends.done_reading);
}

void fuzz_one(const uint8_t *bytes, size_t n)
{
	memset(&ends, 0, sizeof(ends));
	ends.input = input_of(bytes, n);
	unsigned decisions = input_decision(&ends.input);
	world_begin();
	start();
	connect_client();
	while (decisions-- > 0 && input_left(&ends.input))
		act(input_decision(&ends.input));
	ends.client->incoming = input_take(&ends.input, SIZE_MAX, &ends.client->n_incoming);
	world_pass(CLIENT_MS);
	MUST(!ends.client->open);
	check_reply();
	http_free(ends.http);
	loop_free(ends.loop);
	world_end();
}
