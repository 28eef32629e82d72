/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The gRPC server: listeners, the peers they accept, and how it stops. Calls are server_call.c's.
 *
 * Invariant: the server is drained when it has no connection and no call, whichever ends last.
 */
#include "transport/server.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/server_call.h"

#define ACCEPTS_A_TURN 16
#define RETRY_MS       100

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

static void close_listener(struct listener *listener)
{
	struct stat st;

	if (listener->fd < 0)
		return;
	event_free(listener->event);
	loop_timer_free(listener->retry);
	close(steal_fd(&listener->fd));
	/* another daemon may have taken the name since */
	if (listener->endpoint.is_unix && stat(listener->endpoint.path, &st) == 0 &&
	    st.st_dev == listener->device && st.st_ino == listener->inode)
		unlink(listener->endpoint.path);
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
		close_listener(listener);
		free(listener);
	}
	waitlist_fini(&server->receiving);
	waitlist_fini(&server->sending);
	free(server);
}

/* Peers */

void server_peer_release(struct peer *peer)
{
	struct server *server = peer->server;

	if (!peer->conn && peer->n_calls == 0) {
		if (peer->next)
			peer->next->previous = peer->previous;
		if (peer->previous)
			peer->previous->next = peer->next;
		else
			server->peers = peer->next;
		server->n_peers--;
		free(peer);
	}
	if (server->draining && server->n_peers == 0 && server->drained) {
		void (*drained)(void *arg) = server->drained;
		server->drained = NULL;
		drained(server->drained_arg);
	}
}

static void add_peer(struct listener *listener, int fd)
{
	struct server *server = listener->server;
	struct peer *peer = mem_alloc(sizeof(*peer));

	*peer = (struct peer){.server = server, .listener = listener, .next = server->peers};
	if (peer->next)
		peer->next->previous = peer;
	server->peers = peer;
	server->n_peers++;
	socket_prepare(fd);
	peer->conn = conn_new(server->loop, fd, false, &server_role, server->limits, peer);
}

/* A place for a new connection, if need be that of the oldest one without a call. */
static bool make_room(struct server *server)
{
	struct peer *idle = NULL;

	if (server->n_peers < server->limits->connections)
		return true;
	for (struct peer *peer = server->peers; peer; peer = peer->next) {
		if (peer->conn && peer->n_calls == 0 && conn_is_idle(peer->conn))
			idle = peer;
	}
	if (idle)
		conn_free(idle->conn);
	return idle;
}

static void on_retry(void *arg)
{
	struct listener *listener = arg;

	event_add(listener->event, NULL);
}

static void on_connection(evutil_socket_t fd, short what, void *arg)
{
	struct listener *listener = arg;

	(void)what;
	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		int client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (client < 0 && (errno == EMFILE || errno == ENFILE)) {
			/* the connection stays readable: spin no more than ten times a second */
			event_del(listener->event);
			loop_timer_start(listener->retry, RETRY_MS);
		}
		if (client < 0)
			return;
		if (make_room(listener->server))
			add_peer(listener, client);
		else
			close(client);
	}
}

int server_listen(struct server *server, const char *endpoint,
		  const struct rpc_service *const *services, void *app, bool allow_plaintext,
		  struct error *err)
{
	struct endpoint parsed;
	struct address address;
	struct stat st = {0};

	if (endpoint_parse(endpoint, &parsed, err) < 0 ||
	    endpoint_resolve(&parsed, 0, &address, err) < 0)
		return -1;
	if (!allow_plaintext && !address_is_local(&address))
		return fail(
			err, ERR_FAILED_PRECONDITION,
			"endpoint '%s' would be reachable in plain text from other hosts: use a "
			"loopback address, or say --insecure",
			endpoint);
	int fd = endpoint_listen(&parsed, &address, err);
	if (fd < 0)
		return -1;
	if (parsed.is_unix)
		stat(parsed.path, &st);
	struct listener *listener = mem_alloc(sizeof(*listener));
	*listener = (struct listener){.server = server,
				      .next = server->listeners,
				      .endpoint = parsed,
				      .services = services,
				      .app = app,
				      .fd = fd,
				      .device = st.st_dev,
				      .inode = st.st_ino};
	listener->event = event_new(loop_base(server->loop), fd, EV_READ | EV_PERSIST,
				    on_connection, listener);
	listener->retry = loop_timer_new(server->loop, on_retry, listener);
	event_add(listener->event, NULL);
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
		close_listener(listener);
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
