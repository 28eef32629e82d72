/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Simulated sockets, and the eventfd by which threads wake the loop. Lines of the log are checked
 * here as well.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/world.h"
#include "transport/wire.h"

#define FIRST_FD 1000 /* real descriptors are lower */
#define SOCKETS  512  /* number of sockets per input; no descriptor number is used twice */

static struct {
	struct world_socket sockets[SOCKETS];
	unsigned n;
	struct world_socket expected; /* the template of the next socket */
	bool posted;                  /* the eventfd was written */
} world;

static struct world_socket *find(int fd)
{
	MUST(fd >= FIRST_FD && fd < FIRST_FD + (int)world.n);
	struct world_socket *found = &world.sockets[fd - FIRST_FD];
	MUST(found->open);
	return found;
}

static int make(const struct world_socket *like)
{
	struct world_socket *made = &world.sockets[world.n];

	if (world.n == SOCKETS) {
		errno = EMFILE;
		return -1;
	}
	*made = *like;
	made->fd = FIRST_FD + (int)world.n++;
	made->open = true;
	return made->fd;
}

struct world_socket *world_socket(unsigned i)
{
	return i < world.n ? &world.sockets[i] : NULL;
}

struct world_socket *world_expect(void)
{
	return &world.expected;
}

bool world_is_readable(int fd)
{
	const struct world_socket *it = find(fd);

	return it->n_waiting || it->n_incoming || it->peer_closed || it->failure;
}

bool world_is_writable(int fd)
{
	const struct world_socket *it = find(fd);

	return it->room || it->failure;
}

void world_check_sockets(void)
{
	for (unsigned i = 0; i < world.n; i++)
		MUST(!world.sockets[i].open);
	memset(&world, 0, sizeof(world));
}

/* Replacements of the system calls on sockets. */

int __wrap_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol)
{
	(void)domain;
	(void)type;
	(void)protocol;
	return make(&world.expected);
}

int __wrap_bind(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t size)
{
	(void)address;
	(void)size;
	find(fd);
	return 0;
}

int __wrap_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog)
{
	(void)backlog;
	find(fd)->listens = true;
	return 0;
}

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
	struct world_socket *listener = find(fd);

	(void)address;
	(void)size;
	MUST(listener->listens && flags == (SOCK_NONBLOCK | SOCK_CLOEXEC));
	if (listener->n_waiting == 0) {
		errno = EAGAIN;
		return -1;
	}
	listener->n_waiting--;
	return make(&world.expected);
}

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size)
{
	(void)address;
	(void)size;
	find(fd);
	errno = EINPROGRESS;
	return -1;
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	int problem = find(fd)->failure;

	if (name == SO_PEERCRED) {
		MUST(level == SOL_SOCKET && *size == sizeof(struct ucred));
		*(struct ucred *)value = (struct ucred){.pid = 1};
		return 0;
	}
	MUST(level == SOL_SOCKET && name == SO_ERROR && *size == sizeof(problem));
	memcpy(value, &problem, sizeof(problem));
	return 0;
}

int __wrap_getpeername(int fd, struct sockaddr *address, socklen_t *size);
int __wrap_getpeername(int fd, struct sockaddr *address, socklen_t *size)
{
	find(fd);
	MUST(*size >= sizeof(*address));
	address->sa_family = AF_UNIX;
	return 0;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	(void)level;
	(void)name;
	(void)value;
	(void)size;
	find(fd);
	return 0;
}

static ssize_t fails(int problem)
{
	errno = problem;
	return -1;
}

ssize_t __wrap_recv(int fd, void *bytes, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t n, int flags)
{
	struct world_socket *it = find(fd);

	(void)flags;
	if (it->failure)
		return fails(it->failure);
	if (n > it->n_incoming)
		n = it->n_incoming;
	if (n == 0)
		return it->peer_closed ? 0 : fails(EAGAIN);
	memcpy(bytes, it->incoming, n);
	it->incoming += n;
	it->n_incoming -= n;
	return (ssize_t)n;
}

ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags)
{
	struct world_socket *it = find(fd);

	MUST(n > 0 && flags & MSG_NOSIGNAL && !it->write_closed);
	if (it->failure)
		return fails(it->failure);
	if (it->room == 0)
		return fails(EAGAIN);
	if (n > it->room)
		n = it->room;
	it->room -= n;
	if (it->on_data)
		it->on_data(it, bytes, n);
	return (ssize_t)n;
}

int __wrap_shutdown(int fd, int how);
int __wrap_shutdown(int fd, int how)
{
	MUST(how == SHUT_WR);
	find(fd)->write_closed = true;
	return 0;
}

int __wrap_close(int fd);
int __wrap_close(int fd)
{
	find(fd)->open = false;
	return 0;
}

int __wrap_eventfd(unsigned count, int flags);
int __wrap_eventfd(unsigned count, int flags)
{
	(void)count;
	(void)flags;
	return make(&(struct world_socket){0});
}

int __wrap_eventfd_write(int fd, eventfd_t count);
int __wrap_eventfd_write(int fd, eventfd_t count)
{
	(void)count;
	find(fd)->n_waiting = 1;
	return 0;
}

int __wrap_eventfd_read(int fd, eventfd_t *ret);
int __wrap_eventfd_read(int fd, eventfd_t *ret)
{
	struct world_socket *it = find(fd);

	*ret = it->n_waiting;
	it->n_waiting = 0;
	return 0;
}

/* The log: each write is one line of text, whatever a peer has sent. */
ssize_t __wrap_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
	const uint8_t *line = bytes;

	MUST(fd == STDERR_FILENO && n > 0 && line[n - 1] == '\n');
	for (size_t i = 0; i + 1 < n; i++)
		MUST(line[i] >= 0x20 && line[i] != 0x7f);
	MUST(wire_is_text(bytes, n));
	return (ssize_t)n;
}
