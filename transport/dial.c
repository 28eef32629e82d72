/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The connection of a client to its endpoint. An attempt looks up the host, if that is a name, and
 * tries the addresses in turn: the next one when one fails, or in parallel when one has not
 * answered for happy_eyeballs_ms. The first address that answers wins. After all have failed comes
 * a pause, which grows until a connection has succeeded and carried a call, because a server may
 * accept a connection only to send GOAWAY. A connection that takes no new streams is kept for its
 * open streams while another one is opened.
 *
 * Invariant: if dial->link is set, it is in dial->links, takes new streams, and no other connection
 * is being opened.
 */
#include "transport/dial.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "transport/metrics.h"

struct dial_link {
	struct dial *dial;
	struct conn *conn;
	unsigned at; /* index of the address in dial->addresses */
	bool coming; /* true while the connection is being opened */
	struct dial_link *next;
};

static void note_problem(struct dial *dial, const char *problem)
{
	fail(&dial->problem, ERR_UNAVAILABLE, "cannot reach '%s': %s", dial->endpoint.text,
	     problem);
}

void dial_init(struct dial *dial)
{
	pthread_mutex_init(&dial->lock, NULL);
	note_problem(dial, "it does not answer");
}

void dial_fini(struct dial *dial)
{
	lookup_cancel(dial->lookup);
	while (dial->links)
		conn_free(dial->links->conn);
	free(dial->shown.names);
	pthread_mutex_destroy(&dial->lock);
}

/* Attempts */

bool dial_pauses(const struct dial *dial)
{
	return dial->n_coming == 0 && !dial->lookup && dial->next_attempt > now_ms();
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
	/*
	 * Calls wait while an attempt runs. After a failed attempt, dial_hasten lets twice its
	 * duration pass before it starts another one.
	 */
	dial->rested = now + 2 * (now - dial->began);
	dial->n_tried = 0;
	dial->found = false;
	if (!dial->down_since)
		dial->down_since = now;
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
	return 0;
}

static void give_up(struct dial *dial, const char *problem)
{
	metrics_dial_failed(dial->endpoint.text);
	note_problem(dial, problem);
	if (dial->n_tried == dial->addresses.n && dial->n_coming == 0)
		pause_attempts(dial);
	else
		try_next_in(dial, 0);
}

static bool is_time(const struct dial *dial)
{
	return !dial->link && dial->next_attempt <= now_ms();
}

/* Check that the addresses may be called in plain text, if there is no TLS. */
static int check_plaintext(const struct dial *dial, struct error *err)
{
	const struct client_options *options = &dial->options;

	for (unsigned i = 0; i < dial->addresses.n; i++)
		if (!options->tls && !options->allow_plaintext &&
		    !address_is_local(&dial->addresses.list[i]))
			return fail(err, ERR_FAILED_PRECONDITION,
				    "'%s' is another host and would be called in plain text: use a "
				    "loopback address, or say --insecure",
				    dial->endpoint.text);
	return 0;
}

static void use_addresses(struct dial *dial, const struct addresses *addresses)
{
	dial->addresses = *addresses;
	dial->found = check_plaintext(dial, &dial->problem) == 0;
	if (!dial->found)
		pause_attempts(dial);
}

static void on_found(void *arg, const struct addresses *addresses, const struct error *err)
{
	struct dial *dial = arg;

	dial->lookup = NULL;
	dial->found_at = dial->next_attempt = now_ms();
	if (addresses->n) {
		use_addresses(dial, addresses);
	} else {
		dial->problem = *err;
		pause_attempts(dial);
	}
	dial->changed(dial);
}

/* Find the addresses for a new attempt, at once if the host is no name. */
static void find(struct dial *dial)
{
	struct addresses one = {.n = 1};

	dial->began = now_ms();
	if (endpoint_address(&dial->endpoint, &one.list[0])) {
		use_addresses(dial, &one);
		return;
	}
	dial->lookup = lookup_begin(dial->loop, &dial->endpoint, on_found, dial);
	dial->next_attempt = NO_DEADLINE;
	if (!dial->lookup) {
		note_problem(dial, "no thread can be started that looks its name up");
		pause_attempts(dial);
	}
}

static void attempt(struct dial *dial)
{
	struct addresses *addresses = &dial->addresses;
	struct error err;

	if (is_time(dial) && !dial->found)
		find(dial);
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
	dial->found = false;
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
