/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Two ends of a TLS connection, and an attacker between them who forwards bytes in pieces and
 * changes, inserts or drops some. Each end receives a prefix of what the other one sent; without
 * tampering it receives all of it.
 */
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "tests/fuzz/credentials.h"
#include "tests/fuzz/fuzz.h"
#include "transport/tls_session.h"

#define SENT_MAX ((size_t)100000)

struct end {
	struct tls_session *session;
	struct outbox out;
	size_t sent, received; /* bytes that this end has sent and received */
	uint8_t first;         /* first byte that is sent; each further one is higher by 1 */
	bool over;
};

static struct end ends[2];
static bool tampered;

/* Read the next record, and check that it is what the other end sent. Returns its size. */
static size_t receive(struct end *end, const struct end *other)
{
	static uint8_t plain[16384];
	struct error err = {0};
	ssize_t n = tls_session_read(end->session, plain, sizeof(plain), &err);

	if (n < 0) {
		fuzz_check_error(&err);
		end->over = true;
		return 0;
	}
	for (ssize_t i = 0; i < n; i++)
		MUST(plain[i] == (uint8_t)(other->first + end->received + (size_t)i));
	end->received += (size_t)n;
	MUST(end->received <= other->sent);
	return (size_t)n;
}

/* Forward up to n bytes from this end to the other one. */
static void forward(struct end *end, size_t n)
{
	struct end *other = end == ends ? &ends[1] : ends;
	size_t waiting = outbox_waiting(&end->out);

	if (n > waiting)
		n = waiting;
	if (n == 0)
		return;
	auto_free uint8_t *bytes = mem_alloc(n);
	memcpy(bytes, end->out.bytes + end->out.at, n);
	end->out.at += n;
	if (other->over)
		return;
	tls_session_take(other->session, bytes, n);
	while (receive(other, end) > 0)
		;
}

static void send_bytes(struct end *end, size_t n)
{
	struct error err = {0};

	if (end->over || !tls_session_ready(end->session) || n == 0 || end->sent + n > SENT_MAX)
		return;
	auto_free uint8_t *bytes = mem_alloc(n);
	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(end->first + end->sent + i);
	MUST(tls_session_write(end->session, bytes, n, &err) == 0);
	end->sent += n;
}

/* Tampering: change the next byte in flight, insert bytes before it, or drop some. */

static void change(struct end *end, uint8_t by)
{
	if (by == 0 || outbox_waiting(&end->out) == 0)
		return;
	end->out.bytes[end->out.at] ^= by;
	tampered = true;
}

static void insert(struct end *end, const uint8_t *bytes, size_t n)
{
	size_t waiting = outbox_waiting(&end->out);

	if (n == 0)
		return;
	outbox_reserve(&end->out, n);
	memmove(end->out.bytes + n, end->out.bytes, waiting);
	memcpy(end->out.bytes, bytes, n);
	end->out.size += n;
	tampered = true;
}

static void drop(struct end *end, size_t n)
{
	size_t waiting = outbox_waiting(&end->out);

	end->out.at += n < waiting ? n : waiting;
	tampered |= waiting > 0;
}

static void act(struct input *input, uint8_t decision)
{
	struct end *end = &ends[decision & 1];
	size_t amount = decision >> 4;
	size_t n = amount < 12 ? amount * amount + 1 : (size_t)1000 << (amount - 12);

	switch (decision >> 1 & 7) {
	case 0:
		change(end, (uint8_t)(1u << amount % 8));
		break;
	case 1: {
		const uint8_t *bytes = input_take(input, n, &n);
		insert(end, bytes, n);
		break;
	}
	case 2:
		drop(end, n);
		break;
	case 3:
	case 4:
		send_bytes(end, n);
		break;
	default:
		forward(end, n);
		break;
	}
}

static void finish(void)
{
	while (outbox_waiting(&ends[0].out) || outbox_waiting(&ends[1].out)) {
		forward(&ends[0], SIZE_MAX);
		forward(&ends[1], SIZE_MAX);
	}
	for (int i = 0; !tampered && i < 2; i++) {
		MUST(!ends[i].over && tls_session_ready(ends[i].session));
		MUST(ends[i].received == ends[1 - i].sent);
	}
	for (int i = 0; i < 2; i++) {
		if (!ends[i].over)
			tls_session_end(ends[i].session);
		MUST(*tls_session_eof(ends[i].session));
		tls_session_free(ends[i].session);
		outbox_fini(&ends[i].out);
	}
}

/* Decisions are at the end of the input, inserted bytes at its beginning. */
void fuzz_one(const uint8_t *bytes, size_t n)
{
	struct tls *tls = credentials();
	struct input input = input_of(bytes, n);
	unsigned decisions = input_decision(&input);

	memset(ends, 0, sizeof(ends));
	tampered = false;
	ends[1].first = 100;
	ends[0].session = tls_session_new(tls, NULL, NULL, &ends[0].out);
	ends[1].session = tls_session_new(tls, "localhost", NULL, &ends[1].out);
	while (decisions-- > 0 && input_left(&input))
		act(&input, input_decision(&input));
	finish();
}
