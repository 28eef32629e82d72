/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The connection of a client to its endpoint. An attempt tries the addresses in turn: the next one
 * when one fails, or in parallel when one has not answered for happy_eyeballs_ms. The first address
 * that answers wins. After all have failed comes a pause, which grows until a connection has
 * succeeded and carried a call, because a server may accept a connection only to send GOAWAY. A
 * connection that takes no new streams is kept for its open streams while another one is opened.
 *
 * Invariant: if dial->link is set, it is in dial->links, takes new streams, and no other connection
 * is being opened.
 */
#include "transport/dial.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "transport/metrics.h"

struct dial_link {
	struct dial *dial;
	struct conn *conn;
	unsigned at; /* index into dial->addresses */
	bool coming; /* true while the connection is being opened */
	struct dial_link *next;
};

void dial_init(struct dial *dial)
{
	pthread_mutex_init(&dial->lock, NULL);
	snprintf(dial->problem, sizeof(dial->problem), "it does not answer");
}

void dial_fini(struct dial *dial)
{
	while (dial->links)
		conn_free(dial->links->conn);
	free(dial->shown.names);
	pthread_mutex_destroy(&dial->lock);
}

int dial_prepare(struct dial *dial, struct error *err)
{
	const struct client_options *options = &dial->options;
	struct addresses found;

	if (atomic_load(&dial->reached))
		return 0;
	int n = endpoint_resolve(&dial->endpoint, found.list, ADDRESSES_MAX, err);
	if (n < 0)
		return -1;
	for (found.n = 0; found.n < (unsigned)n; found.n++) {
		if (!options->tls && !options->allow_plaintext &&
		    !address_is_local(&found.list[found.n]))
			return fail(err, ERR_FAILED_PRECONDITION,
				    "'%s' is another host and would be called in plain text: use a "
				    "loopback address, or say --insecure",
				    dial->endpoint.text);
	}
	scoped_lock(&dial->lock);
	dial->found = found;
	return 0;
}

/* Attempts */

bool dial_pauses(const struct dial *dial)
{
	return dial->n_coming == 0 && dial->next_attempt > now_ms();
}

void dial_hasten(struct dial *dial)
{
	int64_t now = now_ms();

	if (dial_pauses(dial) && dial->rested + dial->options.limits->pause_ms <= now)
		dial->next_attempt = now;
}

/* Schedule the next address for ms from now, or no attempt if all addresses were tried. */
static void try_next_in(struct dial *dial, int64_t ms)
{
	bool is_last = dial->n_tried == dial->addresses.n;

	dial->next_attempt = is_last ? NO_DEADLINE : now_ms() + ms;
}

/* Start a pause, after all addresses have failed. */
static void pause_attempts(struct dial *dial)
{
	const struct limits *limits = dial->options.limits;
	int64_t now = now_ms();

	dial->pause_ms = dial->pause_ms ? dial->pause_ms * 8 / 5 : limits->pause_ms;
	if (dial->pause_ms > limits->pause_most_ms)
		dial->pause_ms = limits->pause_most_ms;
	/* Jitter of 20 % keeps many controllers from reconnecting at the same moment. */
	dial->next_attempt =
		now + dial->pause_ms * 4 / 5 + arc4random_uniform((uint32_t)dial->pause_ms * 2 / 5);
	/* A host that does not answer makes its callers wait: leave twice that time between. */
	dial->rested = now + 2 * (now - dial->began);
	dial->n_tried = 0;
	if (!dial->down_since)
		dial->down_since = now;
}

/* Update reached: true if a connection is open or being opened. */
static void note_reached(struct dial *dial)
{
	atomic_store(&dial->reached, dial->link || dial->n_coming > 0);
}

static int add_link(struct dial *dial, unsigned at, int fd, struct error *err)
{
	struct dial_link *link = mem_alloc(sizeof(*link));

	*link = (struct dial_link){.dial = dial, .at = at, .coming = true, .next = dial->links};
	link->conn = conn_new(dial->loop, fd, true, dial->role, dial->options.limits, link);
	if (!link->conn) {
		free(link);
		return fail(err, ERR_RESOURCE_EXHAUSTED, "out of memory");
	}
	if (dial->options.tls)
		conn_secure(link->conn, dial->options.tls,
			    *dial->endpoint.name ? dial->endpoint.name : dial->endpoint.host,
			    dial->options.peer_name);
	dial->links = link;
	dial->n_coming++;
	note_reached(dial);
	return 0;
}

static void give_up(struct dial *dial, const char *problem)
{
	metrics_dial_failed(dial->endpoint.text);
	snprintf(dial->problem, sizeof(dial->problem), "%s", problem);
	if (dial->n_tried == dial->addresses.n && dial->n_coming == 0)
		pause_attempts(dial);
	else
		try_next_in(dial, 0);
}

static bool is_time(const struct dial *dial)
{
	return !dial->link && dial->next_attempt <= now_ms();
}

static void attempt(struct dial *dial)
{
	struct addresses *addresses = &dial->addresses;
	struct error err;

	if (is_time(dial) && dial->n_tried == 0) {
		scoped_lock(&dial->lock);
		*addresses = dial->found;
		dial->began = now_ms();
	}
	while (is_time(dial)) {
		unsigned at = (dial->first + dial->n_tried++) % addresses->n;
		try_next_in(dial, dial->options.limits->happy_eyeballs_ms);
		metrics_dialed(dial->endpoint.text);
		int fd = address_connect(&addresses->list[at], &err);
		if (fd < 0 || add_link(dial, at, fd, &err) < 0)
			give_up(dial, err.text);
	}
}

static void succeed(struct dial *dial)
{
	dial->first = dial->link->at;
	dial->n_tried = 0;
	dial->pause_ms = dial->next_attempt = dial->down_since = 0;
}

struct conn *dial_conn(struct dial *dial)
{
	attempt(dial);
	if (!dial->link)
		return NULL;
	succeed(dial);
	return dial->link->conn;
}

/* Results of a connect */

static void note_certificate(struct dial *dial, const struct conn *conn)
{
	const struct tls_certificate *shown = conn_shown(conn);

	if (!shown || !shown->names)
		return;
	scoped_lock(&dial->lock);
	free(dial->shown.names);
	dial->shown = *shown;
	dial->shown.names = mem_strdup(shown->names);
}

static void arrive(struct dial_link *link)
{
	link->coming = false;
	link->dial->n_coming--;
}

static void drop_those_coming(struct dial *dial)
{
	struct dial_link *next;

	for (struct dial_link *link = dial->links; link; link = next) {
		next = link->next;
		if (!link->coming)
			continue;
		arrive(link);
		conn_free(link->conn);
	}
}

void dial_on_ready(struct conn *conn)
{
	struct dial_link *link = conn_owner(conn);
	struct dial *dial = link->dial;

	arrive(link);
	drop_those_coming(dial);
	note_certificate(dial, conn);
	dial->link = link;
	dial->changed(dial);
}

void dial_on_leaving(struct conn *conn)
{
	struct dial_link *link = conn_owner(conn);
	struct dial *dial = link->dial;
	const char *problem = conn_problem(conn);

	if (link->coming)
		arrive(link);
	else if (dial->link == link)
		dial->link = NULL;
	else
		return;
	note_certificate(dial, conn);
	note_reached(dial);
	if (dial->n_tried > 0)
		give_up(dial, *problem ? problem : "it takes no calls");
	dial->changed(dial);
}

void dial_on_freed(struct conn *conn)
{
	struct dial_link *link = conn_owner(conn);
	struct dial *dial = link->dial;
	struct dial_link **at = &dial->links;

	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	free(link);
}
