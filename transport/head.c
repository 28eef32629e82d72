/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Header lists: a table of the fields that gRPC uses, each with a function that parses its value
 * into struct head. head_check_request and head_outcome evaluate a complete header block.
 *
 * Invariant: parsing records an error and continues, because the HPACK decoder has to process the
 * whole block to stay in step with the peer.
 */
#include "transport/head.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "transport/wire.h"

#define ENTRY_OVERHEAD 32 /* bytes counted per field in addition (RFC 9113, 6.5.2) */

static bool equals(const uint8_t *value, size_t n, const char *text)
{
	return n == strlen(text) && memcmp(value, text, n) == 0;
}

static void set_method(struct head *head, const uint8_t *value, size_t n)
{
	head->post = equals(value, n, "POST");
	head->malformed |= !nghttp2_check_method(value, n);
}

static void set_path(struct head *head, const uint8_t *value, size_t n)
{
	head->malformed |= n == 0 || !nghttp2_check_path(value, n);
	if (n < sizeof(head->path)) {
		memcpy(head->path, value, n);
		head->path[n] = '\0';
	}
}

static void ignore(struct head *head, const uint8_t *value, size_t n)
{
	(void)head;
	(void)value;
	(void)n;
}

static void forbid(struct head *head, const uint8_t *value, size_t n)
{
	(void)value;
	(void)n;
	head->malformed = true;
}

static void set_te(struct head *head, const uint8_t *value, size_t n)
{
	head->malformed |= !equals(value, n, "trailers");
}

/* Accept "application/grpc", alone or followed by a parameter or a +subtype. */
static void set_content_type(struct head *head, const uint8_t *value, size_t n)
{
	static const char type[] = "application/grpc";
	const size_t size = sizeof(type) - 1;

	head->grpc = n >= size && strncasecmp((const char *)value, type, size) == 0 &&
		     (n == size || value[size] == '+' || value[size] == ';');
}

static void set_content_length(struct head *head, const uint8_t *value, size_t n)
{
	head->content_length = 0;
	head->malformed |= n == 0 || n > 18;
	for (size_t i = 0; i < n && !head->malformed; i++) {
		head->malformed = value[i] < '0' || value[i] > '9';
		head->content_length = head->content_length * 10 + (value[i] - '0');
	}
}

static void set_timeout(struct head *head, const uint8_t *value, size_t n)
{
	head->timeout_ms = wire_timeout_parse((const char *)value, n);
}

static void set_encoding(struct head *head, const uint8_t *value, size_t n)
{
	head->compressed = !equals(value, n, "identity");
}

/* Returns a decimal number of at most three digits, or the value of otherwise for other text. */
static int number(const uint8_t *value, size_t n, int otherwise)
{
	int result = 0;

	if (n == 0 || n > 3)
		return otherwise;
	for (size_t i = 0; i < n; i++) {
		if (value[i] < '0' || value[i] > '9')
			return otherwise;
		result = result * 10 + (value[i] - '0');
	}
	return result;
}

static void set_status(struct head *head, const uint8_t *value, size_t n)
{
	head->http_status = number(value, n, 0);
	head->malformed |= head->http_status < 100;
}

static void set_grpc_status(struct head *head, const uint8_t *value, size_t n)
{
	head->grpc_status = number(value, n, ERR_UNKNOWN);
	if (head->grpc_status > ERR_UNAUTHENTICATED)
		head->grpc_status = ERR_UNKNOWN;
}

static void set_grpc_message(struct head *head, const uint8_t *value, size_t n)
{
	if (head->message)
		wire_percent_decode(value, n, head->message, head->message_size);
}

enum { METHOD, SCHEME, PATH, AUTHORITY, STATUS, HOST, CONTENT_LENGTH };

#define FIELD(name, set)                                                                           \
	{                                                                                          \
		name, sizeof(name) - 1, set                                                        \
	}

static const struct {
	const char *name;
	size_t size;
	void (*set)(struct head *head, const uint8_t *value, size_t n);
} fields[] = {
	[METHOD] = FIELD(":method", set_method),
	[SCHEME] = FIELD(":scheme", ignore),
	[PATH] = FIELD(":path", set_path),
	[AUTHORITY] = FIELD(":authority", ignore),
	[STATUS] = FIELD(":status", set_status),
	[HOST] = FIELD("host", ignore),
	[CONTENT_LENGTH] = FIELD("content-length", set_content_length),
	FIELD("content-type", set_content_type),
	FIELD("te", set_te),
	FIELD("grpc-timeout", set_timeout),
	FIELD("grpc-encoding", set_encoding),
	FIELD("grpc-status", set_grpc_status),
	FIELD("grpc-message", set_grpc_message),
	/* Connection-specific fields are forbidden (RFC 9113, 8.2.2). */
	FIELD("connection", forbid),
	FIELD("proxy-connection", forbid),
	FIELD("keep-alive", forbid),
	FIELD("transfer-encoding", forbid),
	FIELD("upgrade", forbid),
};

#define BIT(field)     (UINT32_C(1) << (field))
#define MAY_COME_TWICE (BIT(AUTHORITY) | BIT(HOST) | ~(BIT(CONTENT_LENGTH + 1) - 1))
#define OF_REQUESTS    (BIT(METHOD) | BIT(SCHEME) | BIT(PATH))

void head_init(struct head *head)
{
	*head = (struct head){.size = head->size,
			      .content_length = -1,
			      .timeout_ms = INT64_MAX,
			      .grpc_status = -1,
			      .message = head->message,
			      .message_size = head->message_size};
}

void head_begin_trailers(struct head *head)
{
	head->trailers = true;
	head->regular = false;
	head->seen = 0;
	head->size = 0;
}

static void set_field(struct head *head, size_t field, const uint8_t *value, size_t n)
{
	bool again = head->seen & BIT(field);

	head->malformed |= again && !(MAY_COME_TWICE & BIT(field));
	head->ambiguous |= again && (field == AUTHORITY || field == HOST);
	head->seen |= BIT(field);
	fields[field].set(head, value, n);
}

int head_field(struct head *head, const uint8_t *name, size_t name_size, const uint8_t *value,
	       size_t value_size, size_t limit)
{
	bool pseudo = name_size > 0 && name[0] == ':';

	head->size += name_size + value_size + ENTRY_OVERHEAD;
	head->too_large = head->size > limit;
	if (head->too_large)
		return -1;
	head->malformed |= !nghttp2_check_header_name(name, name_size) ||
			   !nghttp2_check_header_value_rfc9113(value, value_size) ||
			   (pseudo && (head->regular || head->trailers));
	head->regular |= !pseudo;
	if (head->malformed)
		return 0;
	for (size_t i = 0; i < COUNT(fields); i++) {
		if (name_size != fields[i].size || memcmp(name, fields[i].name, name_size) != 0)
			continue;
		set_field(head, i, value, value_size);
		return 0;
	}
	head->malformed |= pseudo;
	return 0;
}

int head_check_request(const struct head *head, int *ret_http_status, struct error *err)
{
	*ret_http_status = 200;
	if (head->too_large)
		return fail(err, ERR_RESOURCE_EXHAUSTED, "the request's header list is too large");
	*ret_http_status = 0;
	if (head->malformed || (head->seen & OF_REQUESTS) != OF_REQUESTS ||
	    (head->seen & BIT(STATUS)))
		return fail(err, ERR_INTERNAL, "malformed request");
	if (!head->post) {
		*ret_http_status = 405;
		return fail(err, ERR_INTERNAL, "the method of a gRPC call is POST");
	}
	if (!head->grpc) {
		*ret_http_status = 415;
		return fail(err, ERR_INTERNAL,
			    "the content-type of a gRPC call is application/grpc");
	}
	if (head->ambiguous) {
		*ret_http_status = 400;
		return fail(err, ERR_INTERNAL, "more than one :authority or host");
	}
	if (head->timeout_ms < 0) {
		*ret_http_status = 400;
		return fail(err, ERR_INTERNAL,
			    "malformed grpc-timeout: up to eight digits and one of HMSmun");
	}
	*ret_http_status = 200;
	if (head->compressed)
		return fail(err, ERR_UNIMPLEMENTED,
			    "compressed messages are not accepted: use grpc-encoding 'identity'");
	return 0;
}

int head_outcome(const struct head *head, struct error *err)
{
	if (head->grpc_status == ERR_OK)
		return 0;
	if (head->grpc_status > 0) {
		err->code = (enum error_code)head->grpc_status;
		if (*err->text)
			return -1;
		return fail(err, err->code, "the server answered %s and did not say why",
			    error_name(err->code));
	}
	if (head->http_status != 200)
		return fail(err, wire_code_of_http(head->http_status),
			    "the server answered HTTP status %d and no gRPC status",
			    head->http_status);
	return fail(err, ERR_UNKNOWN, "the server ended the call without a gRPC status");
}
