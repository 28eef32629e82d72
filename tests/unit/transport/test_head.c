/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of header lists: each rule for a gRPC request, and the error that a response is mapped to.
 */
#include "tests/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "transport/head.h"

#define LIMIT 16384
#define RESET 0 /* stands for RST_STREAM instead of an HTTP status */

struct field {
	const char *name, *value;
};

#define PSEUDO                                                                                     \
	{":method", "POST"}, {":scheme", "http"},                                                  \
	{                                                                                          \
		":path", "/a.B/C"                                                                  \
	}
#define REQUEST                                                                                    \
	PSEUDO, {"content-type", "application/grpc"},                                              \
	{                                                                                          \
		"te", "trailers"                                                                   \
	}

static int feed(struct head *head, const struct field *field)
{
	return head_field(head, (const uint8_t *)field->name, strlen(field->name),
			  (const uint8_t *)field->value, strlen(field->value), LIMIT);
}

/* Check a request whose fields end with a NULL name. Returns the result of head_check_request(). */
static int check(const struct field *fields, struct head *head, int *ret_status, struct error *err)
{
	head_init(head);
	for (; fields->name; fields++)
		assert_int_equal(feed(head, fields), 0);
	return head_check_request(head, ret_status, err);
}

static void good_requests_are_accepted(void **state)
{
	(void)state;
	static const struct field cases[][10] = {
		{REQUEST},
		{PSEUDO, {"content-type", "application/grpc"}},
		{PSEUDO, {"content-type", "application/grpc+proto"}},
		{PSEUDO, {"content-type", "application/grpc;charset=utf-8"}},
		{PSEUDO, {"content-type", "Application/gRPC"}},
		{{":authority", ""}, REQUEST},
		{{":authority", "localhost"}, REQUEST},
		{{":authority", "/csi/csi.sock"}, REQUEST},
		{{":authority", "%2Fcsi%2Fcsi.sock"}, REQUEST},
		{{":authority", "localhost"}, REQUEST, {"host", "elsewhere"}},
		{REQUEST, {"host", ""}},
		{REQUEST, {"grpc-encoding", "identity"}},
		{REQUEST, {"grpc-accept-encoding", "gzip"}},
		{REQUEST, {"x-latin", "\xe4\xf6"}},
		{REQUEST, {"x-empty", ""}},
		{REQUEST, {"x-bin", "AAEC,AAEC"}, {"x-bin", "AA"}},
		{REQUEST, {"content-length", "5"}},
		{REQUEST, {"grpc-unknown", "1"}},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct head head = {0};
		struct error err = {0};
		int status;
		int result = check(cases[i], &head, &status, &err);
		if (result < 0)
			print_error("request %zu: %s\n", i, err.text);
		assert_int_equal(result, 0);
		assert_string_equal(head.path, "/a.B/C");
	}
}

static const struct {
	struct field fields[10];
	int status;
	enum error_code code;
} bad_requests[] = {
	/* The following requests are malformed HTTP/2. */
	{{{":scheme", "http"}, {":path", "/"}}, RESET, 0},
	{{{":method", "POST"}, {":path", "/"}}, RESET, 0},
	{{{":method", "POST"}, {":scheme", "http"}}, RESET, 0},
	{{{"content-type", "application/grpc"}}, RESET, 0},
	{{{NULL, NULL}}, RESET, 0},
	{{{":method", "POST"}, REQUEST}, RESET, 0},
	{{{":path", "/"}, REQUEST}, RESET, 0},
	{{{":scheme", "http"}, REQUEST}, RESET, 0},
	{{REQUEST, {":authority", "late"}}, RESET, 0},
	{{{":status", "200"}, REQUEST}, RESET, 0},
	{{{":other", "x"}, REQUEST}, RESET, 0},
	{{{":method", "POST"}, {":scheme", "http"}, {":path", ""}}, RESET, 0},
	{{{":method", "PO ST"}, {":scheme", "http"}, {":path", "/"}}, RESET, 0},
	{{REQUEST, {"X-Upper", "1"}}, RESET, 0},
	{{REQUEST, {"", "no name"}}, RESET, 0},
	{{REQUEST, {"x y", "1"}}, RESET, 0},
	{{REQUEST, {"x", "line\nbreak"}}, RESET, 0},
	{{REQUEST, {"x", "return\r"}}, RESET, 0},
	{{REQUEST, {"x", " space"}}, RESET, 0},
	{{REQUEST, {"x", "\x01"}}, RESET, 0},
	{{REQUEST, {"connection", "close"}}, RESET, 0},
	{{REQUEST, {"proxy-connection", "keep-alive"}}, RESET, 0},
	{{REQUEST, {"keep-alive", "1"}}, RESET, 0},
	{{REQUEST, {"transfer-encoding", "chunked"}}, RESET, 0},
	{{REQUEST, {"upgrade", "h2c"}}, RESET, 0},
	{{REQUEST, {"te", "gzip"}}, RESET, 0},
	{{REQUEST, {"te", "trailers, gzip"}}, RESET, 0},
	{{REQUEST, {"content-length", "5x"}}, RESET, 0},
	{{REQUEST, {"content-length", ""}}, RESET, 0},
	{{REQUEST, {"content-length", "5"}, {"content-length", "5"}}, RESET, 0},
	/* The following requests are valid HTTP/2, but not gRPC. */
	{{{":method", "GET"}, {":scheme", "http"}, {":path", "/"}}, 405, ERR_INTERNAL},
	{{PSEUDO}, 415, ERR_INTERNAL},
	{{PSEUDO, {"content-type", "application/grpcx"}}, 415, ERR_INTERNAL},
	{{PSEUDO, {"content-type", "application/grp"}}, 415, ERR_INTERNAL},
	{{PSEUDO, {"content-type", "application/json"}}, 415, ERR_INTERNAL},
	{{PSEUDO, {"content-type", ""}}, 415, ERR_INTERNAL},
	{{{":authority", "a"}, {":authority", "b"}, REQUEST}, 400, ERR_INTERNAL},
	{{REQUEST, {"host", "a"}, {"host", "b"}}, 400, ERR_INTERNAL},
	{{REQUEST, {"grpc-timeout", "soon"}}, 400, ERR_INTERNAL},
	{{REQUEST, {"grpc-timeout", "123456789S"}}, 400, ERR_INTERNAL},
	/* The following request is gRPC that the server does not support. */
	{{REQUEST, {"grpc-encoding", "gzip"}}, 200, ERR_UNIMPLEMENTED},
};

static void bad_requests_are_refused(void **state)
{
	(void)state;

	for (size_t i = 0; i < COUNT(bad_requests); i++) {
		struct head head = {0};
		struct error err = {0};
		int status = -1;
		int result = check(bad_requests[i].fields, &head, &status, &err);
		if (result == 0 || status != bad_requests[i].status)
			print_error("request %zu\n", i);
		assert_int_equal(result, -1);
		assert_int_equal(status, bad_requests[i].status);
		if (status != RESET)
			assert_int_equal(err.code, bad_requests[i].code);
	}
}

static void timeout_and_length_are_read(void **state)
{
	(void)state;
	static const struct field fields[] = {
		REQUEST, {"grpc-timeout", "2S"}, {"content-length", "12"}, {NULL, NULL}};
	static const struct field plain[] = {REQUEST, {NULL, NULL}};
	struct head head = {0};
	struct error err;
	int status;

	assert_int_equal(check(fields, &head, &status, &err), 0);
	assert_int_equal(head.timeout_ms, 2000);
	assert_int_equal(head.content_length, 12);
	assert_int_equal(check(plain, &head, &status, &err), 0);
	assert_true(head.timeout_ms == INT64_MAX);
	assert_int_equal(head.content_length, -1);
}

static void an_overlong_path_matches_no_method(void **state)
{
	(void)state;
	char path[2 * HEAD_PATH_MAX + 1] = "/";
	struct head head = {0};

	memset(path + 1, 'x', sizeof(path) - 2);
	path[sizeof(path) - 1] = '\0';
	head_init(&head);
	assert_int_equal(feed(&head, &(struct field){":path", path}), 0);
	assert_string_equal(head.path, "");
	assert_false(head.malformed);
}

/* Each field counts 32 bytes more, as in the dynamic table of HPACK (RFC 9113 6.5.2). */
static void list_is_too_large_past_its_limit(void **state)
{
	(void)state;
	struct head head = {0};
	struct error err;
	int status;
	size_t n = 0;

	head_init(&head);
	while (feed(&head, &(struct field){"a", "bcd"}) == 0)
		n++;
	assert_int_equal(n, LIMIT / (32 + 4));
	assert_true(head.too_large);
	assert_int_equal(head_check_request(&head, &status, &err), -1);
	assert_int_equal(status, 200);
	assert_int_equal(err.code, ERR_RESOURCE_EXHAUSTED);
}

static void trailers_have_no_pseudo_fields(void **state)
{
	(void)state;
	static const struct field request[] = {REQUEST, {NULL, NULL}};
	struct head head = {0};
	struct error err;
	int status;

	assert_int_equal(check(request, &head, &status, &err), 0);
	head_begin_trailers(&head);
	assert_int_equal(feed(&head, &(struct field){"x-checksum", "1"}), 0);
	assert_false(head.malformed);
	assert_int_equal(feed(&head, &(struct field){":path", "/x"}), 0);
	assert_true(head.malformed);
}

/* Returns the outcome of a response whose fields end with a NULL name: 0, or -1 with *err. */
static int outcome(const struct field *fields, struct error *err)
{
	struct head head = {.message = err->text, .message_size = sizeof(err->text)};

	*err = (struct error){0};
	head_init(&head);
	for (; fields->name; fields++)
		assert_int_equal(feed(&head, fields), 0);
	assert_false(head.malformed);
	return head_outcome(&head, err);
}

static void responses_are_mapped_to_errors(void **state)
{
	(void)state;
	static const struct {
		struct field fields[5];
		enum error_code code;
	} cases[] = {
		{{{":status", "200"}, {"grpc-status", "0"}}, ERR_OK},
		{{{":status", "200"}, {"grpc-status", "5"}}, ERR_NOT_FOUND},
		{{{":status", "200"}, {"grpc-status", "16"}}, ERR_UNAUTHENTICATED},
		{{{":status", "200"}, {"grpc-status", "17"}}, ERR_UNKNOWN},
		{{{":status", "200"}, {"grpc-status", "9999"}}, ERR_UNKNOWN},
		{{{":status", "200"}, {"grpc-status", "-1"}}, ERR_UNKNOWN},
		{{{":status", "200"}, {"grpc-status", ""}}, ERR_UNKNOWN},
		{{{":status", "200"}}, ERR_UNKNOWN},
		{{{":status", "503"}}, ERR_UNAVAILABLE},
		{{{":status", "404"}}, ERR_UNIMPLEMENTED},
		{{{":status", "503"}, {"grpc-status", "9"}}, ERR_FAILED_PRECONDITION},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct error err;
		int result = outcome(cases[i].fields, &err);
		assert_int_equal(result, cases[i].code == ERR_OK ? 0 : -1);
		if (err.code != cases[i].code)
			print_error("response %zu\n", i);
		assert_int_equal(err.code, cases[i].code);
		assert_true(result == 0 || *err.text);
	}
}

static void message_of_a_response_is_decoded(void **state)
{
	(void)state;
	static const struct field fields[] = {{":status", "200"},
					      {"grpc-status", "5"},
					      {"grpc-message", "volume 'gr%C3%B6n' is %no%21"},
					      {NULL, NULL}};
	struct error err;

	assert_int_equal(outcome(fields, &err), -1);
	assert_string_equal(err.text, "volume 'gr\xc3\xb6n' is %no!");
}

static void status_is_a_number(void **state)
{
	(void)state;
	static const char *const bad[] = {"", "abc", "99", "1000", "20x", "-20"};

	for (size_t i = 0; i < COUNT(bad); i++) {
		struct head head = {0};
		head_init(&head);
		assert_int_equal(feed(&head, &(struct field){":status", bad[i]}), 0);
		assert_true(head.malformed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_requests_are_accepted),
		cmocka_unit_test(bad_requests_are_refused),
		cmocka_unit_test(timeout_and_length_are_read),
		cmocka_unit_test(an_overlong_path_matches_no_method),
		cmocka_unit_test(list_is_too_large_past_its_limit),
		cmocka_unit_test(trailers_have_no_pseudo_fields),
		cmocka_unit_test(responses_are_mapped_to_errors),
		cmocka_unit_test(message_of_a_response_is_decoded),
		cmocka_unit_test(status_is_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
