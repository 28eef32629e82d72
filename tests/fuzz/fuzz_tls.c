/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Two ends of a TLS connection, and somebody on the line who carries bytes from one to the other,
 * in pieces, and changes, inserts or swallows some. What one end hears is the beginning of what the
 * other said, whatever he does; all of it, when he does nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "tests/fuzz/credentials.h"
#include "tests/fuzz/fuzz.h"
#include "transport/tls_session.h"

#define SAID_MAX ((size_t)100000)

struct end {
	struct tls_session *session;
	struct outbox out;
	size_t said, heard; /* bytes */
	uint8_t beginning;  /* each byte it says is one more than the last */
	bool over;
};

static struct end ends[2];
static bool meddled;

/* The next record, and check that it is what the other said. */
static size_t hear(struct end *end, const struct end *other)
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
		MUST(plain[i] == (uint8_t)(other->beginning + end->heard + (size_t)i));
	end->heard += (size_t)n;
	MUST(end->heard <= other->said);
	return (size_t)n;
}

/* From this end to the other. */
static void carry(struct end *end, size_t n)
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
	while (hear(other, end) > 0)
		;
}

static void say(struct end *end, size_t n)
{
	struct error err = {0};

	if (end->over || !tls_session_ready(end->session) || n == 0 || end->said + n > SAID_MAX)
		return;
	auto_free uint8_t *bytes = mem_alloc(n);
	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(end->beginning + end->said + i);
	MUST(tls_session_write(end->session, bytes, n, &err) == 0);
	end->said += n;
}

/* Change the next byte on the line, put others before it, or take some away. */

static void change(struct end *end, uint8_t by)
{
	if (by == 0 || outbox_waiting(&end->out) == 0)
		return;
	end->out.bytes[end->out.at] ^= by;
	meddled = true;
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
	meddled = true;
}

static void swallow(struct end *end, size_t n)
{
	size_t waiting = outbox_waiting(&end->out);

	end->out.at += n < waiting ? n : waiting;
	meddled |= waiting > 0;
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
		swallow(end, n);
		break;
	case 3:
	case 4:
		say(end, n);
		break;
	default:
		carry(end, n);
		break;
	}
}

static void finish(void)
{
	while (outbox_waiting(&ends[0].out) || outbox_waiting(&ends[1].out)) {
		carry(&ends[0], SIZE_MAX);
		carry(&ends[1], SIZE_MAX);
	}
	for (int i = 0; !meddled && i < 2; i++) {
		MUST(!ends[i].over && tls_session_ready(ends[i].session));
		MUST(ends[i].heard == ends[1 - i].said);
	}
	for (int i = 0; i < 2; i++) {
		if (!ends[i].over)
			tls_session_end(ends[i].session);
		MUST(*tls_session_eof(ends[i].session));
		tls_session_free(ends[i].session);
		outbox_fini(&ends[i].out);
	}
}

/* The decisions come last, what is inserted before them. */
void fuzz_one(const uint8_t *bytes, size_t n)
{
	struct tls *tls = credentials();
	struct input input = input_of(bytes, n);
	unsigned decisions = input_decision(&input);

	memset(ends, 0, sizeof(ends));
	meddled = false;
	ends[1].beginning = 100;
	ends[0].session = tls_session_new(tls, NULL, &ends[0].out);
	ends[1].session = tls_session_new(tls, "localhost", &ends[1].out);
	while (decisions-- > 0 && input_left(&input))
		act(&input, input_decision(&input));
	finish();
}
