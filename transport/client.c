/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The client: the calls that wait for a connection, and the first and last step of every call.
 * dial.c makes the connection, client_stream.c uses it.
 *
 * serve() handles the waiting calls, always at the top of the loop: a change of the connection that
 * is reported from inside a callback of nghttp2 only schedules serve() for the next turn.
 *
 * Invariant: outside serve(), the timer runs if and only if a call waits.
 */
#include "transport/client_inside.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "transport/dial.h"

struct client {
	struct dial dial;                      /* first member: serve_soon() casts to client */
	char *peer_name;                       /* copy of options.peer_name; may be NULL */
	struct client_waiter *waiters, **last; /* calls without a connection, oldest first */
	struct loop_timer *timer;              /* timer that calls serve() */
};

/* The queue of waiting calls */

static void enqueue(struct client *client, struct client_waiter *waiter)
{
	waiter->since = now_ms();
	waiter->next = NULL;
	*client->last = waiter;
	client->last = &waiter->next;
}

static struct client_waiter *dequeue(struct client *client, struct client_waiter **at)
{
	struct client_waiter *waiter = *at;

	*at = waiter->next;
	if (!*at)
		client->last = at;
	return waiter;
}

/*
 * Returns the now_ms() value at which the call stops waiting. Time before the end of a lookup of
 * the host does not count.
 */
static int64_t end_of_wait(const struct client *client, const struct client_waiter *waiter)
{
	const struct dial *dial = &client->dial;
	int64_t since = dial->found_at > waiter->since ? dial->found_at : waiter->since;
	int64_t until = dial->lookup ? NO_DEADLINE : since + client_limits(client)->wait_ms;

	return waiter->deadline < until ? waiter->deadline : until;
}

/*
 * True if the next attempt to connect is not due yet, and the endpoint has been down for wait_ms or
 * would be called in plain text without permission.
 */
static bool is_hopeless(const struct client *client)
{
	const struct dial *dial = &client->dial;

	return dial_pauses(dial) && (dial->problem.code == ERR_FAILED_PRECONDITION ||
				     now_ms() - dial->down_since >= client_limits(client)->wait_ms);
}

/* Remove a call whose wait is over, or pointless. Returns NULL if there is none. */
static struct client_waiter *dequeue_late(struct client *client)
{
	bool hopeless = is_hopeless(client);
	int64_t now = now_ms();

	for (struct client_waiter **at = &client->waiters; *at; at = &(*at)->next)
		if (hopeless || end_of_wait(client, *at) <= now)
			return dequeue(client, at);
	return NULL;
}

/* Report to a waiting call that it gets no connection. */
static void fail_waiter(const struct client *client, struct client_waiter *waiter)
{
	const struct dial *dial = &client->dial;
	struct error err = dial->problem;

	if (dial->lookup)
		fail(&err, ERR_UNAVAILABLE,
		     "cannot find the address of '%s': no name server has answered",
		     client_endpoint(client));
	if (time_left_ms(waiter->deadline) == 0)
		err.code = ERR_DEADLINE_EXCEEDED;
	waiter->found(waiter, NULL, &err);
}

/* Hand conn to the waiting calls, as long as it takes new streams. */
static void open_streams(struct client *client, struct conn *conn)
{
	while (client->waiters && dial_conn(&client->dial) == conn) {
		struct client_waiter *waiter = dequeue(client, &client->waiters);
		waiter->found(waiter, conn, NULL);
	}
	conn_pump(conn);
}

static void schedule(struct client *client)
{
	int64_t next = client->dial.link ? NO_DEADLINE : client->dial.next_attempt;

	for (struct client_waiter *waiter = client->waiters; waiter; waiter = waiter->next) {
		int64_t end = end_of_wait(client, waiter);
		if (end < next)
			next = end;
	}
	if (client->waiters)
		loop_timer_start(client->timer, time_left_ms(next));
	else
		loop_timer_stop(client->timer);
}

static void serve(void *arg)
{
	struct client *client = arg;
	struct conn *conn = dial_conn(&client->dial);
	struct client_waiter *late;

	while ((late = dequeue_late(client)))
		fail_waiter(client, late);
	if (conn)
		open_streams(client, conn);
	schedule(client);
}

static void serve_soon(struct dial *dial)
{
	struct client *client = (struct client *)dial;

	if (client->waiters)
		loop_timer_start(client->timer, 0);
}

void client_wait(struct client *client, struct client_waiter *waiter)
{
	/* No attempt was made since the last failure, so the server may be back by now. */
	if (is_hopeless(client))
		dial_hasten(&client->dial);
	enqueue(client, waiter);
	serve(client);
}

void client_wait_again(struct client *client, struct client_waiter *waiter)
{
	enqueue(client, waiter);
	serve_soon(&client->dial);
}

void client_wait_end(struct client *client, struct client_waiter *waiter)
{
	for (struct client_waiter **at = &client->waiters; *at; at = &(*at)->next) {
		if (*at == waiter) {
			dequeue(client, at);
			schedule(client);
			return;
		}
	}
}

/* Streams */

void client_head_init(struct client_head *head, const struct client *client, const char *path,
		      int64_t deadline)
{
	const struct dial *dial = &client->dial;
	const char *host =
		dial->endpoint.is_unix ? "localhost" : strstr(dial->endpoint.text, "//") + 2;
	nghttp2_nv authority = conn_field(":authority", host);

	authority.valuelen = strcspn(host, "?");
	wire_timeout_format(time_left_ms(deadline), head->timeout);
	const nghttp2_nv fields[] = {conn_field(":method", "POST"),
				     conn_field(":scheme", dial->options.tls ? "https" : "http"),
				     conn_field(":path", path),
				     authority,
				     conn_field("te", "trailers"),
				     conn_field("grpc-timeout", head->timeout),
				     conn_field("content-type", "application/grpc"),
				     conn_field("user-agent", "zcsi/" ZCSI_VERSION)};
	_Static_assert(sizeof(fields) == sizeof(head->fields), "all of them");
	memcpy(head->fields, fields, sizeof(fields));
}

bool client_may_repeat(const struct stream *stream, uint32_t http2_error)
{
	return (http2_error == NGHTTP2_REFUSED_STREAM && !stream->headed) ||
	       !conn_may_have_sent(stream);
}

int client_fail_closed(const struct client *client, const struct stream *stream,
		       uint32_t http2_error, struct error *err)
{
	const char *endpoint = client_endpoint(client), *problem = conn_problem(stream->conn);
	bool lost = *problem &&
		    (http2_error == NGHTTP2_CANCEL || http2_error == NGHTTP2_ENHANCE_YOUR_CALM);

	if (http2_error == NGHTTP2_REFUSED_STREAM)
		return fail(err, ERR_UNAVAILABLE, "'%s' refused the call: try again", endpoint);
	if (!lost)
		return fail(err, wire_code_of_reset(http2_error), "the call to '%s' was ended: %s",
			    endpoint, nghttp2_http2_strerror(http2_error));
	return fail(err, ERR_UNAVAILABLE, "lost the connection to '%s': %s; the call %s", endpoint,
		    problem,
		    conn_may_have_sent(stream) ? "may have been carried out" : "was not sent");
}

/* Creation and end */

int client_new(struct client **ret, struct loop *loop, const char *endpoint,
	       const struct client_options *options, struct error *err)
{
	struct client *client = mem_alloc(sizeof(*client));
	struct dial *dial = &client->dial;

	int result = endpoint_parse(endpoint, &dial->endpoint, err);
	if (result == 0 && !dial->endpoint.is_unix && !*dial->endpoint.host)
		result = fail(err, ERR_INVALID_ARGUMENT, "endpoint '%s' names no host", endpoint);
	if (result < 0) {
		free(client);
		return -1;
	}
	dial->loop = loop;
	dial->role = &client_role;
	dial->changed = serve_soon;
	if (options)
		dial->options = *options;
	/* The mode of a unix socket's file restricts its callers, so TLS is not used. */
	if (dial->endpoint.is_unix)
		dial->options.tls = NULL;
	if (!dial->options.limits)
		dial->options.limits = &limits_default;
	if (dial->options.peer_name)
		dial->options.peer_name = client->peer_name = mem_strdup(dial->options.peer_name);
	dial_init(dial);
	client->last = &client->waiters;
	client->timer = loop_timer_new(loop, serve, client);
	*ret = client;
	return 0;
}

void client_free(struct client *client)
{
	if (!client)
		return;
	dial_fini(&client->dial);
	loop_timer_free(client->timer);
	free(client->peer_name);
	free(client);
}

const char *client_endpoint(const struct client *client)
{
	return client->dial.endpoint.text;
}

void client_certificate(struct client *client, struct tls_certificate *ret)
{
	struct dial *dial = &client->dial;

	scoped_lock(&dial->lock);
	*ret = dial->shown;
	if (ret->names)
		ret->names = mem_strdup(ret->names);
}

bool client_is_up(const struct client *client)
{
	return client->dial.down_since == 0;
}

struct loop *client_loop(const struct client *client)
{
	return client->dial.loop;
}

const struct limits *client_limits(const struct client *client)
{
	return client->dial.options.limits;
}
