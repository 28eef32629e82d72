/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Endpoints: from text to a socket that listens or connects. conn.c handles the connections.
 *
 * Invariant: the file of a unix socket is removed only if no running process listens on it. Every
 * descriptor is close-on-exec and non-blocking.
 */
#include "transport/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libgen.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/hash.h"
#include "common/mem.h"
#include "transport/limits.h"

#define BACKLOG 128

static const char *after_prefix(const char *text, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

static int parse_unix(const char *path, struct endpoint *ret, struct error *err)
{
	if (!*path)
		return fail(err, ERR_INVALID_ARGUMENT, "endpoint '%s' has no path", ret->text);
	if (strlen(path) >= sizeof(ret->path))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "endpoint '%s' is too long: a unix socket's path has at most %zu bytes",
			    ret->text, sizeof(ret->path) - 1);
	ret->is_unix = true;
	strcpy(ret->path, path);
	return 0;
}

static int parse_tcp(const char *text, struct endpoint *ret, struct error *err)
{
	const char *colon = strrchr(text, ':');
	char *end;

	if (!colon)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "endpoint '%s' has no port: write tcp://HOST:PORT", ret->text);
	long port = strtol(colon + 1, &end, 10);
	if (colon[1] < '0' || colon[1] > '9' || *end || port > 65535)
		return fail(err, ERR_INVALID_ARGUMENT, "endpoint '%s': '%s' is not a port",
			    ret->text, colon + 1);
	size_t length = (size_t)(colon - text);
	if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
		text++;
		length -= 2;
	} else if (memchr(text, ':', length)) {
		return fail(err, ERR_INVALID_ARGUMENT,
			    "endpoint '%s': write an IPv6 address in brackets", ret->text);
	}
	if (length >= sizeof(ret->host))
		return fail(err, ERR_INVALID_ARGUMENT, "endpoint '%s': host too long", ret->text);
	memcpy(ret->host, text, length);
	snprintf(ret->port, sizeof(ret->port), "%hu", (unsigned short)port);
	return 0;
}

/* Cut ?name=NAME off the end of text, and store the name in ret->name. */
static int cut_name(char *text, struct endpoint *ret, struct error *err)
{
	char *query = strchr(text, '?');
	const char *name = query ? after_prefix(query, "?name=") : NULL;

	if (!query)
		return 0;
	*query = '\0';
	if (!name || !*name || *name == '.' || strlen(name) >= sizeof(ret->name))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "endpoint '%s': after '?' comes name=NAME, the name that the "
			    "certificate there has",
			    ret->text);
	strcpy(ret->name, name);
	return 0;
}

int endpoint_parse(const char *text, struct endpoint *ret, struct error *err)
{
	char tcp[sizeof(ret->text)];
	const char *rest;

	*ret = (struct endpoint){0};
	if (strlen(text) >= sizeof(ret->text))
		return fail(err, ERR_INVALID_ARGUMENT, "endpoint '%.64s...' is too long", text);
	strcpy(ret->text, text);
	if ((rest = after_prefix(text, "unix://"))) {
		if (*rest && *rest != '/')
			return fail(err, ERR_INVALID_ARGUMENT,
				    "endpoint '%s' has a relative path: write unix:///PATH", text);
		return parse_unix(rest, ret, err);
	}
	if ((rest = after_prefix(text, "unix:")))
		return parse_unix(rest, ret, err);
	if (text[0] == '/')
		return parse_unix(text, ret, err);
	if ((rest = after_prefix(text, "tcp://"))) {
		strcpy(tcp, rest);
		return cut_name(tcp, ret, err) < 0 ? -1 : parse_tcp(tcp, ret, err);
	}
	return fail(err, ERR_INVALID_ARGUMENT,
		    "endpoint '%s' is neither unix:///PATH nor tcp://HOST:PORT", text);
}

/* Call getaddrinfo(3), copy at most *n addresses, set *n to their number. Returns its result. */
static int find(const struct endpoint *endpoint, int flags, struct address *ret, unsigned *n)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_NUMERICSERV | flags};
	const char *host = *endpoint->host ? endpoint->host : NULL;
	const unsigned max = *n;
	struct addrinfo *found;

	*n = 0;
	int result = getaddrinfo(host, endpoint->port, &hints, &found);
	if (result != 0)
		return result;
	for (const struct addrinfo *at = found; at && *n < max; at = at->ai_next, ++*n) {
		memcpy(&ret[*n].storage, at->ai_addr, at->ai_addrlen);
		ret[*n].size = at->ai_addrlen;
	}
	freeaddrinfo(found);
	return 0;
}

bool endpoint_address(const struct endpoint *endpoint, struct address *ret)
{
	unsigned n = 1;

	if (!endpoint->is_unix)
		return find(endpoint, AI_NUMERICHOST, ret, &n) == 0;
	*ret = (struct address){0};
	struct sockaddr_un *sun = (struct sockaddr_un *)&ret->storage;
	sun->sun_family = AF_UNIX;
	strcpy(sun->sun_path, endpoint->path);
	ret->size = sizeof(*sun);
	return true;
}

int endpoint_resolve(const struct endpoint *endpoint, struct address *ret, unsigned max,
		     struct error *err)
{
	if (endpoint->is_unix)
		return endpoint_address(endpoint, ret) ? 1 : 0;
	int result = find(endpoint, *endpoint->host ? 0 : AI_PASSIVE, ret, &max);
	if (result != 0)
		return fail(err, ERR_UNAVAILABLE, "cannot find the address of '%s': %s",
			    endpoint->text, gai_strerror(result));
	return (int)max;
}

bool address_is_local(const struct address *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->storage;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->storage;

	switch (address->storage.ss_family) {
	case AF_UNIX:
		return true;
	case AF_INET:
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	case AF_INET6:
		return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	default:
		return false;
	}
}

void address_text(const struct address *address, char ret_text[ADDRESS_TEXT_SIZE])
{
	char host[INET6_ADDRSTRLEN], port[sizeof("65535")];

	*ret_text = '\0';
	if (address->storage.ss_family != AF_UNIX &&
	    getnameinfo((const struct sockaddr *)&address->storage, address->size, host,
			sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) == 0)
		snprintf(ret_text, ADDRESS_TEXT_SIZE, "%s port %s", host, port);
}

static uint64_t hash_bytes(const void *bytes, size_t n)
{
	const unsigned char *at = bytes;
	uint64_t hash = HASH_START;

	while (n--)
		hash = hash_byte(hash, *at++);
	return hash;
}

uint64_t socket_origin(int fd)
{
	struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address;
	struct ucred process = {.pid = 0};
	socklen_t size = sizeof(address);

	getpeername(fd, (struct sockaddr *)&address, &size);
	switch (address.ss_family) {
	case AF_INET:
		return hash_bytes(&v4->sin_addr, sizeof(v4->sin_addr));
	case AF_INET6:
		return hash_bytes(&v6->sin6_addr, IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) ? 16 : 8);
	default:
		size = sizeof(process);
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &process, &size);
		return (uint64_t)process.pid;
	}
}

void socket_prepare(int fd)
{
	const struct limits *limits = &limits_default;
	const struct {
		int level, name, value;
	} options[] = {
		{IPPROTO_TCP, TCP_NODELAY, 1},
		{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, (int)(limits->silence_ms / 1000)},
		{IPPROTO_TCP, TCP_KEEPINTVL, (int)(limits->keepalive_interval_ms / 1000)},
		{IPPROTO_TCP, TCP_KEEPCNT, (int)limits->keepalive_probes},
		{IPPROTO_TCP, TCP_USER_TIMEOUT, (int)limits->unacked_ms},
	};

	/* On a unix socket the TCP options fail, and none of them is needed. */
	for (size_t i = 0; i < COUNT(options); i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

int address_connect(const struct address *address, struct error *err)
{
	auto_close int fd =
		socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return fail_errno(err, "cannot make a socket");
	socket_prepare(fd);
	if (connect(fd, (const struct sockaddr *)&address->storage, address->size) < 0 &&
	    errno != EINPROGRESS) {
		fail_errno(err, "cannot connect");
		err->code = ERR_UNAVAILABLE;
		return -1;
	}
	return steal_fd(&fd);
}

static int make_directory_of(const struct endpoint *endpoint, struct error *err)
{
	char path[sizeof(endpoint->path)];
	const char *directory;

	strcpy(path, endpoint->path);
	directory = dirname(path);
	if (mkdir(directory, 0755) < 0 && errno != EEXIST)
		return fail_errno(err, "cannot make the directory '%s'", directory);
	return 0;
}

/*
 * Returns true if the process that called listen(2) still runs; connected is a socket connected to
 * it. A successful connect(2) is no proof: a child that the process was spawning when it was killed
 * keeps the socket open until its exec.
 */
static bool listener_lives(int connected)
{
	struct ucred listener;
	socklen_t size = sizeof(listener);

	return getsockopt(connected, SOL_SOCKET, SO_PEERCRED, &listener, &size) < 0 ||
	       kill(listener.pid, 0) == 0 || errno != ESRCH;
}

/* Remove the socket file of a daemon that no longer runs. Fails if a process listens on it. */
static int remove_stale(const struct endpoint *endpoint, const struct address *address,
			struct error *err)
{
	struct stat st;

	if (lstat(endpoint->path, &st) < 0)
		return errno == ENOENT ? 0 : fail_errno(err, "cannot look at '%s'", endpoint->path);
	if (!S_ISSOCK(st.st_mode))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' exists and is not a socket: move it away", endpoint->path);
	auto_close int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (probe < 0)
		return fail_errno(err, "cannot make a socket");
	bool connected =
		connect(probe, (const struct sockaddr *)&address->storage, address->size) == 0;
	/* EAGAIN: a process listens, but its backlog is full. */
	if (connected ? listener_lives(probe) : errno == EAGAIN)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "another process listens at '%s': stop it or choose another endpoint",
			    endpoint->text);
	if (!connected && errno != ECONNREFUSED)
		return fail_errno(err, "cannot check whether '%s' is in use", endpoint->path);
	if (unlink(endpoint->path) < 0 && errno != ENOENT)
		return fail_errno(err, "cannot remove the stale socket '%s'", endpoint->path);
	return 0;
}

int endpoint_listen(const struct endpoint *endpoint, const struct address *address,
		    struct error *err)
{
	const int on = 1;
	auto_close int fd =
		socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return fail_errno(err, "cannot make a socket for '%s'", endpoint->text);
	if (endpoint->is_unix) {
		if (make_directory_of(endpoint, err) < 0 ||
		    remove_stale(endpoint, address, err) < 0)
			return -1;
		/* The mode of an unbound socket becomes that of the file that bind(2) creates. */
		fchmod(fd, 0600);
	} else {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	}
	if (bind(fd, (const struct sockaddr *)&address->storage, address->size) < 0)
		return fail_errno(err, "cannot bind '%s'", endpoint->text);
	if (listen(fd, BACKLOG) < 0)
		return fail_errno(err, "cannot listen at '%s'", endpoint->text);
	return steal_fd(&fd);
}
