/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A parser for the JSON of DHV_PARAMETERS: Nomad's parameters are a map of strings, so numbers,
 * lists and objects as values are wrong.
 *
 * Invariant: no key occurs twice, the pairs are sorted by key, and their texts are valid UTF-8. A
 * text is parsed whole or refused, and never read beyond its end.
 */
#include "controller/host_volume/pairs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"

#define PAIRS_MAX 512 /* more pairs are refused as a mistake */

struct parser {
	struct arena *arena;
	const char *text, *at; /* the whole text, and what is not parsed yet */
	struct map_pair *pairs;
	size_t n, room;
	struct error *err;
};

static int wrong(struct parser *parser, const char *what)
{
	return fail(parser->err, ERR_INVALID_ARGUMENT, "%s at byte %td", what,
		    parser->at - parser->text);
}

static void skip_space(struct parser *parser)
{
	parser->at += strspn(parser->at, " \t\r\n");
}

/* Skip white space and the character c. Returns false if another character is there. */
static bool skip(struct parser *parser, char c)
{
	skip_space(parser);
	if (*parser->at != c)
		return false;
	parser->at++;
	return true;
}

/* Strings */

static void put_utf8(char **to, unsigned code)
{
	if (code < 0x80) {
		*(*to)++ = (char)code;
		return;
	}
	unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
	static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
	*(*to)++ = (char)(first[more] | code >> 6 * more);
	while (more--)
		*(*to)++ = (char)(0x80 | (code >> 6 * more & 0x3f));
}

/* Parse the four digits of a \u escape. Returns false if they are not there. */
static bool take_digits(struct parser *parser, unsigned *ret)
{
	char digits[5] = "";

	strncat(digits, parser->at, 4);
	if (strspn(digits, "0123456789abcdefABCDEF") != 4)
		return false;
	*ret = (unsigned)strtoul(digits, NULL, 16);
	parser->at += 4;
	return true;
}

/* Parse what follows \u: a code of four digits, or a surrogate pair. */
static int take_code(struct parser *parser, char **to)
{
	unsigned code, low;

	if (!take_digits(parser, &code))
		return wrong(parser, "\\u has no four digits");
	if (code >= 0xd800 && code < 0xdc00) {
		if (strncmp(parser->at, "\\u", 2) != 0)
			return wrong(parser, "half of a character");
		parser->at += 2;
		if (!take_digits(parser, &low) || low < 0xdc00 || low > 0xdfff)
			return wrong(parser, "half of a character");
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	}
	if (!code || (code >= 0xdc00 && code <= 0xdfff))
		return wrong(parser, "no character");
	put_utf8(to, code);
	return 0;
}

static int take_escape(struct parser *parser, char **to)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	char c = *parser->at;
	const char *name = c ? strchr(names, c) : NULL;

	if (!name && c != 'u')
		return wrong(parser, "unknown escape");
	parser->at++;
	if (!name)
		return take_code(parser, to);
	*(*to)++ = values[name - names];
	return 0;
}

/* Copy a character that is no escape. */
static int take_character(struct parser *parser, char **to)
{
	size_t n = *parser->at ? utf8_sequence(parser->at, strlen(parser->at)) : 0;

	if (!n || (unsigned char)*parser->at < 0x20)
		return wrong(parser,
			     *parser->at ? "no character of a string" : "no end of a string");
	memcpy(*to, parser->at, n);
	*to += n;
	parser->at += n;
	return 0;
}

/* Returns the room for a string: an escape is never shorter than what it stands for. */
static size_t room_of(const char *at)
{
	size_t n = 0;

	while (at[n] && at[n] != '"')
		n += at[n] == '\\' && at[n + 1] ? 2 : 1;
	return n + 1;
}

static int take_string(struct parser *parser, const char **ret)
{
	if (!skip(parser, '"'))
		return wrong(parser, "no string in quotes");
	char *text = arena_alloc(parser->arena, room_of(parser->at)), *to = text;
	while (*parser->at != '"') {
		bool escape = *parser->at == '\\';
		parser->at += escape;
		if ((escape ? take_escape : take_character)(parser, &to) < 0)
			return -1;
	}
	parser->at++;
	*ret = text;
	return 0;
}

/* Objects */

/* Insert a pair in the order of keys. */
static int put(struct parser *parser, const char *key, const char *value)
{
	size_t at = parser->n;

	if (parser->n == parser->room)
		return wrong(parser, "too many parameters");
	while (at > 0 && strcmp(key, parser->pairs[at - 1].key) < 0)
		at--;
	if (at > 0 && strcmp(key, parser->pairs[at - 1].key) == 0)
		return wrong(parser, "a second value of the same key");
	memmove(&parser->pairs[at + 1], &parser->pairs[at],
		(parser->n - at) * sizeof(*parser->pairs));
	parser->pairs[at] = (struct map_pair){key, value};
	parser->n++;
	return 0;
}

static int take_pair(struct parser *parser)
{
	const char *key, *value;

	if (take_string(parser, &key) < 0)
		return -1;
	if (!skip(parser, ':'))
		return wrong(parser, "no ':'");
	return take_string(parser, &value) < 0 ? -1 : put(parser, key, value);
}

static int take_object(struct parser *parser)
{
	skip_space(parser);
	if (strncmp(parser->at, "null", 4) == 0) {
		parser->at += 4;
		return 0;
	}
	if (!skip(parser, '{'))
		return wrong(parser, "no '{'");
	if (skip(parser, '}'))
		return 0;
	do {
		if (take_pair(parser) < 0)
			return -1;
	} while (skip(parser, ','));
	return skip(parser, '}') ? 0 : wrong(parser, "no '}'");
}

int pairs_parse(struct arena *arena, const char *text, struct map *ret, struct error *err)
{
	struct parser parser = {
		.arena = arena, .text = text, .at = text, .room = PAIRS_MAX, .err = err};

	parser.pairs = arena_alloc(arena, PAIRS_MAX * sizeof(*parser.pairs));
	if (take_object(&parser) < 0)
		return -1;
	skip_space(&parser);
	if (*parser.at)
		return wrong(&parser, "more than an object");
	*ret = (struct map){.pairs = parser.pairs, .n = parser.n};
	return 0;
}
