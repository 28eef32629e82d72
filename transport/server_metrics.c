/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Metrics of a server: open connections, running calls, bytes received and sent.
 *
 * Invariant: a sum of bytes never decreases. The bytes of ended connections are kept in their
 * listener; those of open connections are added when /metrics is read.
 */
#include "common/metrics.h"
#include "transport/conn_stats.h"
#include "transport/server_inside.h"

static const struct metric in_flight =
	METRIC(GAUGE, "zcsi_rpc_in_flight", "Calls that have begun and not ended.");

enum { OPEN, RECEIVED, SENT };

static const struct metric metrics[] = {
	[OPEN] = METRIC(GAUGE, "zcsi_connections_open", "Accepted connections that are open.",
			"endpoint"),
	[RECEIVED] = METRIC(COUNTER, "zcsi_connections_received_bytes_total",
			    "Bytes received on accepted connections.", "endpoint"),
	[SENT] = METRIC(COUNTER, "zcsi_connections_sent_bytes_total",
			"Bytes sent on accepted connections.", "endpoint"),
};

static void sum_up(const struct listener *listener, double ret[COUNT(metrics)])
{
	uint64_t received = listener->received, sent = listener->sent;
	double open = 0;

	for (const struct peer *peer = listener->server->peers; peer; peer = peer->next) {
		if (peer->listener != listener || !peer->conn)
			continue;
		conn_traffic(peer->conn, &received, &sent);
		open++;
	}
	ret[OPEN] = open;
	ret[RECEIVED] = (double)received;
	ret[SENT] = (double)sent;
}

void server_metrics(const struct server *server, FILE *out)
{
	double calls = 0;

	for (const struct peer *peer = server->peers; peer; peer = peer->next)
		calls += peer->n_calls;
	metric_head(&in_flight, out);
	metric_sample(&in_flight, out, calls);
	for (size_t i = 0; i < COUNT(metrics); i++) {
		metric_head(&metrics[i], out);
		for (const struct listener *at = server->listeners; at; at = at->next) {
			double values[COUNT(metrics)];
			sum_up(at, values);
			metric_sample(&metrics[i], out, values[i], at->acceptor.endpoint.text);
		}
	}
}

bool server_is_draining(const struct server *server)
{
	return server->draining;
}
