/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A relay between client and server with a fault (see middle.h): one thread that uses poll(2) on
 * all connections.
 */
#include "tests/transport/middle.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/mem.h"

#define PAIRS       16 /* connections of one client */
#define UNIT_MAX    ((size_t)1 << 17)
#define PATIENCE_MS 60000

/* A direction of a connection, with the bytes of a frame that has not arrived completely. */
struct way {
	int from, to;
	bool begun, ended;
	uint8_t bytes[2 * UNIT_MAX];
	size_t n;
};

static struct {
	bool tls;
	const struct fault *fault;
	/* number of frames relayed, and the number after which the fault occurs */
	unsigned units, after;
	bool occurred;
	int server_port, listener, wake;
	struct pair {
		struct way ways[WAYS];
		bool open;
	} pairs[PAIRS];
	pthread_t thread;
} middle;

/* The relay between client and server. */

/* Returns the length of the first frame or record if it has arrived completely, else 0. */
static size_t whole_unit(const struct way *way, bool from_client)
{
	static const size_t preface = 24;
	const uint8_t *b = way->bytes;
	size_t n = middle.tls ? 5 : 9;

	if (!middle.tls && from_client && !way->begun)
		return way->n >= preface ? preface : 0;
	if (way->n < n)
		return 0;
	n += middle.tls ? (size_t)b[3] << 8 | b[4] : (size_t)b[0] << 16 | (size_t)b[1] << 8 | b[2];
	if (n > UNIT_MAX)
		abort();
	return way->n >= n ? n : 0;
}

static void end_way(struct way *way)
{
	shutdown(way->to, SHUT_WR);
	way->ended = true;
}

static void close_pair(struct pair *pair)
{
	if (!pair->open)
		return;
	close(pair->ways[0].from);
	close(pair->ways[0].to);
	pair->open = false;
}

static void reset_pair(struct pair *pair)
{
	static const struct linger at_once = {.l_onoff = 1};

	setsockopt(pair->ways[0].from, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	setsockopt(pair->ways[0].to, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close_pair(pair);
}

static void cause_fault(struct pair *pair)
{
	const struct fault *fault = middle.fault;

	middle.occurred = true;
	if (fault->n > 0)
		send(pair->ways[fault->to].to, fault->bytes, fault->n, MSG_NOSIGNAL);
	switch (fault->action) {
	case NOTHING:
		break;
	case CLOSE_BOTH:
		close_pair(pair);
		break;
	case RESET_BOTH:
		reset_pair(pair);
		break;
	case END_TO_SERVER:
		end_way(&pair->ways[TO_SERVER]);
		break;
	case END_TO_CLIENT:
		end_way(&pair->ways[TO_CLIENT]);
		break;
	case DROP_ALL:
		pair->ways[TO_SERVER].ended = true;
		__attribute__((fallthrough));
	case DROP_TO_CLIENT:
		pair->ways[TO_CLIENT].ended = true;
		break;
	}
}

static void pass_on(struct pair *pair, struct way *way)
{
	bool from_client = way == &pair->ways[TO_SERVER];
	size_t n;

	while (pair->open && !way->ended && (n = whole_unit(way, from_client)) > 0) {
		send(way->to, way->bytes, n, MSG_NOSIGNAL);
		way->n -= n;
		memmove(way->bytes, way->bytes + n, way->n);
		way->begun = true;
		if (++middle.units == middle.after)
			cause_fault(pair);
	}
}

static void read_way(struct pair *pair, struct way *way)
{
	ssize_t n = recv(way->from, way->bytes + way->n, sizeof(way->bytes) - way->n, MSG_DONTWAIT);

	if (n > 0) {
		way->n += (size_t)n;
		pass_on(pair, way);
	} else if (n == 0 || errno != EAGAIN) {
		end_way(way);
	}
	if (pair->ways[TO_SERVER].ended && pair->ways[TO_CLIENT].ended && n <= 0)
		close_pair(pair);
}

static void set_nodelay(int fd)
{
	const int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static int connect_to_server(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				      .sin_port = htons((uint16_t)middle.server_port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	set_nodelay(fd);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		abort();
	return fd;
}

static void add_pair(void)
{
	int client = accept(middle.listener, NULL, NULL);
	struct pair *pair = middle.pairs;

	while (pair->open)
		pair++;
	if (client < 0 || pair == middle.pairs + PAIRS)
		abort();
	set_nodelay(client);
	pair->ways[TO_SERVER] = (struct way){.from = client, .to = connect_to_server()};
	pair->ways[TO_CLIENT] = (struct way){.from = pair->ways[TO_SERVER].to, .to = client};
	pair->open = true;
}

static void *relay(void *arg)
{
	struct pollfd fds[2 + PAIRS * WAYS] = {{.fd = middle.wake, .events = POLLIN},
					       {.fd = middle.listener, .events = POLLIN}};
	const size_t n = COUNT(fds);

	(void)arg;
	for (;;) {
		for (size_t i = 2; i < n; i++) {
			const struct pair *pair = &middle.pairs[(i - 2) / WAYS];
			const struct way *way = &pair->ways[i % WAYS];
			fds[i].fd = pair->open && !way->ended ? way->from : -1;
			fds[i].events = POLLIN;
		}
		if (poll(fds, n, PATIENCE_MS) <= 0)
			abort();
		if (fds[0].revents)
			return NULL;
		for (size_t i = 2; i < n; i++) {
			struct pair *pair = &middle.pairs[(i - 2) / WAYS];
			if (fds[i].fd >= 0 && fds[i].revents && pair->open)
				read_way(pair, &pair->ways[i % WAYS]);
		}
		if (fds[1].revents)
			add_pair();
	}
}

int middle_start(const struct fault *fault, unsigned after, bool tls, int server_port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	middle.fault = fault;
	middle.after = after;
	middle.tls = tls;
	middle.server_port = server_port;
	middle.units = 0;
	middle.occurred = false;
	middle.wake = eventfd(0, EFD_CLOEXEC);
	middle.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(middle.listener, (struct sockaddr *)&address, size) < 0 ||
	    listen(middle.listener, PAIRS) < 0 ||
	    getsockname(middle.listener, (struct sockaddr *)&address, &size) < 0 ||
	    pthread_create(&middle.thread, NULL, relay, NULL) != 0)
		abort();
	return ntohs(address.sin_port);
}

bool middle_stop(void)
{
	eventfd_write(middle.wake, 1);
	pthread_join(middle.thread, NULL);
	for (size_t i = 0; i < PAIRS; i++)
		close_pair(&middle.pairs[i]);
	close(middle.wake);
	close(middle.listener);
	return middle.occurred;
}
