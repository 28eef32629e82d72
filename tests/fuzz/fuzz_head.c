/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Header lists, written as text: "name: value" and CR LF for each field, and an empty line before
 * the trailers. A request is accepted if and only if a second implementation of the rules accepts
 * it. A response has an outcome, which is OK only if the server sent that.
 */
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "tests/fuzz/fuzz.h"
#include "transport/head.h"

#define FIELDS_MAX   64
#define LIST_MAX     1000 /* bytes of a header list as HTTP/2 counts them */
#define MESSAGE_SIZE 32

struct text {
	const char *at;
	size_t n;
};

struct field {
	struct text name, value;
};

/* The fields of one header block. */
struct block {
	struct field fields[FIELDS_MAX];
	size_t n;
};

/* Cut off and return the text before the mark, or all of it if there is no mark. */
static struct text cut(struct text *rest, const char *mark)
{
	const char *end = memmem(rest->at, rest->n, mark, strlen(mark));
	struct text first = {rest->at, end ? (size_t)(end - rest->at) : rest->n};
	size_t used = first.n + (end ? strlen(mark) : 0);

	*rest = (struct text){rest->at + used, rest->n - used};
	return first;
}

static struct block read_block(struct text *rest)
{
	struct block block = {.n = 0};

	while (rest->n && block.n < FIELDS_MAX) {
		struct text line = cut(rest, "\r\n");
		if (line.n == 0)
			break;
		struct text name = cut(&line, ": ");
		block.fields[block.n++] = (struct field){name, line};
	}
	return block;
}

/* A second implementation of the rules: RFC 9113 8.2 and 8.3, gRPC's PROTOCOL-HTTP2.md */

static bool is(struct text text, const char *word)
{
	return text.n == strlen(word) && memcmp(text.at, word, text.n) == 0;
}

static bool is_name(struct text name)
{
	bool pseudo = name.n > 0 && name.at[0] == ':';

	for (size_t i = pseudo; i < name.n; i++)
		if (!strchr("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz", name.at[i]) ||
		    !name.at[i])
			return false;
	return name.n > pseudo;
}

static bool is_value(struct text value)
{
	for (size_t i = 0; i < value.n; i++) {
		unsigned char c = (unsigned char)value.at[i];
		bool blank = c == ' ' || c == '\t';
		if ((c < 0x20 && c != '\t') || c == 0x7f || (blank && (i == 0 || i + 1 == value.n)))
			return false;
	}
	return true;
}

static bool is_path(struct text value)
{
	for (size_t i = 0; i < value.n; i++)
		if ((unsigned char)value.at[i] <= ' ')
			return false;
	return value.n > 0;
}

static size_t digits(struct text value)
{
	size_t n = 0;

	while (n < value.n && value.at[n] >= '0' && value.at[n] <= '9')
		n++;
	return n;
}

static bool is_number(struct text value)
{
	return value.n > 0 && value.n <= 18 && digits(value) == value.n;
}

static bool is_grpc(struct text value)
{
	static const char type[] = "application/grpc";
	const size_t n = sizeof(type) - 1;

	return value.n >= n && strncasecmp(value.at, type, n) == 0 &&
	       (value.n == n || value.at[n] == '+' || value.at[n] == ';');
}

static bool is_timeout(struct text value)
{
	return value.n >= 2 && value.n <= 9 && digits(value) == value.n - 1 &&
	       memchr("HMSmun", value.at[value.n - 1], 6);
}

static bool is_post(struct text value)
{
	return is(value, "POST");
}

static bool is_trailers(struct text value)
{
	return is(value, "trailers");
}

static bool is_identity(struct text value)
{
	return is(value, "identity");
}

static bool is_never(struct text value)
{
	(void)value;
	return false;
}

/* How often a field may occur, and the values that it may have (all of them, or only the last
 * one). */
static const struct rule {
	const char *name;
	size_t least, most;
	bool (*holds)(struct text value);
	bool last_only;
} rules[] = {
	{":method", 1, 1, is_post, false},
	{":scheme", 1, 1, is_value, false},
	{":path", 1, 1, is_path, false},
	{":authority", 0, 1, is_value, false},
	{"host", 0, 1, is_value, false},
	{"content-length", 0, 1, is_number, false},
	{"content-type", 1, FIELDS_MAX, is_grpc, true},
	{"te", 0, FIELDS_MAX, is_trailers, false},
	{"grpc-timeout", 0, FIELDS_MAX, is_timeout, true},
	{"grpc-encoding", 0, FIELDS_MAX, is_identity, true},
	{":status", 0, 0, is_never, false},
	{"connection", 0, 0, is_never, false},
	{"proxy-connection", 0, 0, is_never, false},
	{"keep-alive", 0, 0, is_never, false},
	{"transfer-encoding", 0, 0, is_never, false},
	{"upgrade", 0, 0, is_never, false},
};

static bool rule_holds(const struct rule *rule, const struct block *block)
{
	size_t n = 0;
	bool good = true;

	for (size_t i = 0; i < block->n; i++) {
		if (!is(block->fields[i].name, rule->name))
			continue;
		good = (good || rule->last_only) && rule->holds(block->fields[i].value);
		n++;
	}
	return good && n >= rule->least && n <= rule->most;
}

static bool is_known(struct text name)
{
	for (size_t i = 0; i < COUNT(rules); i++)
		if (is(name, rules[i].name))
			return true;
	return false;
}

static bool is_request(const struct block *block)
{
	bool regular = false;

	for (size_t i = 0; i < block->n; i++) {
		struct field field = block->fields[i];
		bool pseudo = field.name.n > 0 && field.name.at[0] == ':';
		if (!is_name(field.name) || !is_value(field.value) ||
		    (pseudo && (regular || !is_known(field.name))))
			return false;
		regular |= !pseudo;
	}
	for (size_t i = 0; i < COUNT(rules); i++)
		if (!rule_holds(&rules[i], block))
			return false;
	return true;
}

/* Checks of the code under test, transport/head.c. */

/* Pass the fields to head_field() until one exceeds the limit. */
static void take(struct head *head, const struct block *block)
{
	size_t size = 0;

	for (size_t i = 0; i < block->n; i++) {
		struct field field = block->fields[i];
		int result = head_field(head, (const uint8_t *)field.name.at, field.name.n,
					(const uint8_t *)field.value.at, field.value.n, LIST_MAX);
		size += field.name.n + field.value.n + 32;
		MUST(head->size == size);
		MUST((result < 0) == (size > LIST_MAX) && head->too_large == (result < 0));
		if (result < 0)
			return;
	}
}

static void check_request(const struct block *block)
{
	struct head head = {0};
	struct error err = {0};
	int http_status;

	head_init(&head);
	take(&head, block);
	int result = head_check_request(&head, &http_status, &err);
	MUST((result == 0) == (!head.too_large && is_request(block)));
	MUST(http_status == 0 || (http_status >= 200 && http_status < 500));
	MUST(result == 0 ? http_status == 200 : true);
	if (result < 0)
		fuzz_check_error(&err);
	MUST(memchr(head.path, '\0', sizeof(head.path)));
}

/* Returns true if the last grpc-status of both blocks is OK. */
static bool says_ok(const struct block *first, const struct block *trailers)
{
	const struct block *blocks[] = {first, trailers};
	bool ok = false;

	for (size_t b = 0; b < COUNT(blocks); b++) {
		for (size_t i = 0; i < blocks[b]->n; i++) {
			struct text value = blocks[b]->fields[i].value;
			if (is(blocks[b]->fields[i].name, "grpc-status"))
				ok = is(value, "0") || is(value, "00") || is(value, "000");
		}
	}
	return ok;
}

static void check_response(const struct block *first, const struct block *trailers)
{
	auto_free char *message = mem_alloc(MESSAGE_SIZE);
	struct head head = {.message = message, .message_size = MESSAGE_SIZE};
	struct error err = {.text = "text"};

	head_init(&head);
	take(&head, first);
	bool whole = !head.too_large;
	head_begin_trailers(&head);
	take(&head, trailers);
	MUST(head.http_status >= 0 && head.http_status <= 999);
	MUST(memchr(message, '\0', MESSAGE_SIZE));
	int result = head_outcome(&head, &err);
	if (result < 0)
		fuzz_check_error(&err);
	/* a malformed block is not read any further, and its stream is reset */
	if (whole && !head.too_large && !head.malformed)
		MUST((result == 0) == says_ok(first, trailers));
}

void fuzz_one(const uint8_t *bytes, size_t n)
{
	struct text rest = {(const char *)bytes, n};
	struct block first = read_block(&rest), trailers = read_block(&rest);

	check_request(&first);
	check_response(&first, &trailers);
}
