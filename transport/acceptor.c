/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A listening socket in the loop: accepts connections and hands their descriptors to the owner.
 *
 * Invariant: when descriptors or memory have run out, accepting pauses for accept_ms (limits.h), so
 * that the loop does not spin. acceptor_close removes no unix socket of another process.
 */
#include "transport/acceptor.h"

#include <errno.h>
#include <event2/event.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "transport/limits.h"

static void on_retry(void *arg)
{
	struct acceptor *acceptor = arg;

	event_add(acceptor->event, NULL);
}

/* True for an error of accept4(2) that means a lack of descriptors or memory. */
static bool lacks_room(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

static void on_connection(evutil_socket_t fd, short what, void *arg)
{
	struct acceptor *acceptor = arg;

	(void)what;
	for (unsigned i = 0; i < limits_default.accepts; i++) {
		int client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (client < 0 && lacks_room(errno)) {
			event_del(acceptor->event);
			loop_timer_start(acceptor->retry, limits_default.accept_ms);
		}
		if (client < 0)
			return;
		acceptor->accepted(acceptor, client);
	}
}

int acceptor_address(const char *endpoint, bool allow_plaintext, struct endpoint *ret_endpoint,
		     struct address *ret_address, struct error *err)
{
	if (endpoint_parse(endpoint, ret_endpoint, err) < 0 ||
	    endpoint_resolve(ret_endpoint, ret_address, 1, err) < 0)
		return -1;
	if (*ret_endpoint->name)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "endpoint '%s' is served here: leave ?name= out, which is for callers",
			    endpoint);
	if (allow_plaintext || address_is_local(ret_address))
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "endpoint '%s' would be reachable in plain text from other hosts: use a "
		    "loopback address, or say --insecure",
		    endpoint);
}

int acceptor_open(struct acceptor *acceptor, struct loop *loop, const char *endpoint,
		  void (*accepted)(struct acceptor *acceptor, int fd), bool allow_plaintext,
		  struct error *err)
{
	struct address address;
	struct stat st = {0};

	*acceptor = (struct acceptor){.accepted = accepted, .fd = -1};
	if (acceptor_address(endpoint, allow_plaintext, &acceptor->endpoint, &address, err) < 0)
		return -1;
	acceptor->fd = endpoint_listen(&acceptor->endpoint, &address, err);
	if (acceptor->fd < 0)
		return -1;
	if (acceptor->endpoint.is_unix)
		stat(acceptor->endpoint.path, &st);
	acceptor->device = st.st_dev;
	acceptor->inode = st.st_ino;
	acceptor->event = event_new(loop_base(loop), acceptor->fd, EV_READ | EV_PERSIST,
				    on_connection, acceptor);
	acceptor->retry = loop_timer_new(loop, on_retry, acceptor);
	event_add(acceptor->event, NULL);
	return 0;
}

void acceptor_close(struct acceptor *acceptor)
{
	struct stat st;

	if (acceptor->fd < 0)
		return;
	event_free(acceptor->event);
	loop_timer_free(acceptor->retry);
	close(steal_fd(&acceptor->fd));
	/* Another daemon may have replaced the file by a socket of its own in the meantime. */
	if (acceptor->endpoint.is_unix && stat(acceptor->endpoint.path, &st) == 0 &&
	    st.st_dev == acceptor->device && st.st_ino == acceptor->inode)
		unlink(acceptor->endpoint.path);
}
