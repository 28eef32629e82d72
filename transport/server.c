/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The gRPC server: its listeners, the peers they accept, and its stop. server_stream.c and
 * server_call.c handle the calls.
 *
 * Invariant: the server is drained when it has no connection and no call, in either order.
 */
#include "transport/server.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/allow.h"
#include "transport/health.h"
#include "transport/list.h"
#include "transport/metrics.h"
#include "transport/reflection.h"
#include "transport/server_inside.h"
#include "transport/tls_names.h"

/* Least number of connections after which freed memory is returned to the kernel. */
#define CROWD 32

struct server *server_new(struct loop *loop, struct workers *workers, const struct limits *limits)
{
	struct server *server = mem_alloc(sizeof(*server));

	server->loop = loop;
	server->workers = workers;
	server->limits = limits ? limits : &limits_default;
	waitlist_init(&server->receiving, loop, server->limits->receive_ms, server_receive_expired);
	waitlist_init(&server->sending, loop, server->limits->write_ms, server_send_expired);
	return server;
}

void server_free(struct server *server)
{
	if (!server)
		return;
	server->drained = NULL;
	for (struct peer *peer = server->peers, *next; peer; peer = next) {
		next = peer->next;
		if (peer->conn)
			conn_free(peer->conn);
	}
	while (server->listeners) {
		struct listener *listener = server->listeners;
		server->listeners = listener->next;
		acceptor_close(&listener->acceptor);
		free(listener->services);
		free(listener);
	}
	waitlist_fini(&server->receiving);
	waitlist_fini(&server->sending);
	free(server);
}

/* Peers */

/*
 * Return free memory to the kernel when half of the connections have ended: a single connection
 * that stays open can keep the heap at its largest size.
 */
static void give_memory_back(struct server *server)
{
	if (server->most_peers < CROWD || server->n_peers >= server->most_peers / 2)
		return;
	malloc_trim(0);
	server->most_peers = server->n_peers;
}

void server_peer_release(struct peer *peer)
{
	struct server *server = peer->server;

	if (!peer->conn && peer->n_calls == 0) {
		list_remove(peer);
		server->n_peers--;
		tls_names_free(peer->names);
		free(peer);
		give_memory_back(server);
	}
	if (server->draining && server->n_peers == 0 && server->drained) {
		void (*drained)(void *arg) = server->drained;
		server->drained = NULL;
		drained(server->drained_arg);
	}
}

void server_peer_used(struct peer *peer)
{
	struct server *server = peer->server;

	if (server->peers == peer)
		return;
	list_remove(peer);
	list_push(server->peers, peer);
}

static void add_peer(struct listener *listener, int fd, uint64_t origin)
{
	struct server *server = listener->server;
	struct peer *peer = mem_alloc(sizeof(*peer));

	*peer = (struct peer){.server = server, .listener = listener, .origin = origin};
	list_push(server->peers, peer);
	if (++server->n_peers > server->most_peers)
		server->most_peers = server->n_peers;
	socket_prepare(fd);
	metrics_accepted(listener->acceptor.endpoint.text);
	peer->conn = conn_new(server->loop, fd, false, &server_role, server->limits, peer);
	if (!peer->conn)
		server_peer_release(peer);
	else if (listener->tls)
		conn_secure(peer->conn, listener->tls, NULL, NULL);
}

static bool is_idle(const struct peer *peer)
{
	return peer->conn && peer->n_calls == 0 && conn_is_idle(peer->conn);
}

static bool is_handshaking(const struct peer *peer)
{
	return peer->conn && !conn_was_ready(peer->conn);
}

/*
 * Returns the number of connections of an origin (socket_origin); if handshaking is true, only of
 * those whose handshake is not complete.
 */
static unsigned count(const struct server *server, uint64_t origin, bool handshaking)
{
	unsigned n = 0;

	for (const struct peer *peer = server->peers; peer; peer = peer->next)
		n += peer->origin == origin && (!handshaking || is_handshaking(peer));
	return n;
}

/*
 * Returns the connection to close for a new one: of the origin that has the most connections, the
 * one without a call that was used longest ago. An origin with fewer connections than the new one's
 * loses none, so a peer with many connections evicts only its own. If handshaking is true, only
 * connections whose handshake is not complete are considered. Returns NULL to close none.
 */
static struct peer *choose(const struct server *server, uint64_t origin, bool handshaking)
{
	unsigned most = count(server, origin, handshaking);
	struct peer *chosen = NULL;

	for (struct peer *peer = server->peers; peer; peer = peer->next) {
		if (handshaking ? !is_handshaking(peer) : !is_idle(peer))
			continue;
		unsigned n = chosen && chosen->origin == peer->origin
				     ? most
				     : count(server, peer->origin, handshaking);
		if (n < most)
			continue;
		chosen = peer;
		most = n;
	}
	return chosen;
}

/*
 * Make room for a new connection, if necessary by closing one without a call. If
 * limits->handshaking connections have not completed their handshake, only one of these is closed,
 * so a peer that never completes a handshake does not evict peers that did. Returns false without
 * room.
 */
static bool make_room(struct server *server, uint64_t origin)
{
	const struct limits *limits = server->limits;
	unsigned n_handshaking = 0;

	for (struct peer *peer = server->peers; peer; peer = peer->next)
		n_handshaking += is_handshaking(peer);
	bool crowded = n_handshaking >= limits->handshaking;
	if (!crowded && server->n_peers < limits->connections)
		return true;
	struct peer *closed = choose(server, origin, crowded);
	if (closed)
		conn_free(closed->conn);
	return closed;
}

static void on_accepted(struct acceptor *acceptor, int fd)
{
	struct listener *listener = container_of(acceptor, struct listener, acceptor);
	const uint64_t origin = socket_origin(fd);

	if (make_room(listener->server, origin))
		add_peer(listener, fd, origin);
	else
		close(fd);
}

int server_check_allowed(const struct peer *peer, const struct rpc_target *to, struct error *err)
{
	if (!peer->listener->tls)
		return 0;
	return allow_check(&peer->listener->offer.trust->allow, peer->names, to->service,
			   to->method->name, err);
}

/*
 * Returns the given services followed by the built-in services of every endpoint. The first match
 * is used, so a program can serve a built-in service by an implementation of its own.
 */
static const struct rpc_service **add_services(const struct rpc_service *const *services)
{
	static const struct rpc_service *const everywhere[] = {&health_service, &reflection_service,
							       &reflection_v1alpha_service};
	size_t n = 0;

	while (services[n])
		n++;
	const struct rpc_service **all =
		mem_alloc((n + COUNT(everywhere) + 1) * sizeof(struct rpc_service *));
	memcpy(all, services, n * sizeof(struct rpc_service *));
	memcpy(all + n, everywhere, sizeof(everywhere));
	return all;
}

int server_listen(struct server *server, const char *endpoint, const struct server_offer *offer,
		  struct error *err)
{
	const struct trust *trust = offer->trust;
	struct listener *listener = mem_alloc(sizeof(*listener));

	if (acceptor_open(&listener->acceptor, server->loop, endpoint, on_accepted,
			  trust && (trust->tls || trust->insecure), err) < 0) {
		free(listener);
		return -1;
	}
	listener->server = server;
	listener->offer = *offer;
	listener->services = add_services(offer->services);
	listener->tls = trust && !listener->acceptor.endpoint.is_unix ? trust->tls : NULL;
	listener->next = server->listeners;
	server->listeners = listener;
	return 0;
}

void server_drain(struct server *server, void (*drained)(void *arg), void *arg)
{
	struct peer *next;

	server->draining = true;
	server->drained = drained;
	server->drained_arg = arg;
	for (struct listener *listener = server->listeners; listener; listener = listener->next)
		acceptor_close(&listener->acceptor);
	health_stop(server);
	for (struct peer *peer = server->peers; peer; peer = next) {
		next = peer->next;
		if (peer->conn)
			conn_drain(peer->conn);
	}
	if (server->n_peers == 0 && server->drained) {
		server->drained = NULL;
		drained(arg);
	}
}
