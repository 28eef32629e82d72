/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A small HTTP/1.1 server. Only the first line of a request is evaluated; its header is read to the
 * end, and every connection is closed after one answer.
 *
 * Every host that reaches the port may connect, so these are limited: the bytes of a request, the
 * time from accept to close at any speed of the client, and the number of connections, of which the
 * oldest is evicted for a new one.
 *
 * Invariant: a connection is in the waitlist from accept to close, so its time limit always runs.
 */
#include "transport/http.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/mem.h"
#include "transport/acceptor.h"
#include "transport/limits.h"
#include "transport/waitlist.h"

struct http {
	struct acceptor acceptor;
	struct loop *loop;
	const struct http_page *pages;
	void *arg;
	struct waitlist conns; /* open connections, oldest first */
	unsigned n_conns;
};

struct http_conn {
	struct waiter waiter;
	struct http *http;
	int fd;
	struct event *readable, *writable;
	char *reply;
	size_t size, sent;
	size_t received;
	char request[]; /* limits_default.http_request bytes and a NUL */
};

enum outcome { SHOWN, NOT_READY, NO_REQUEST, NO_PAGE, NO_METHOD, TOO_LARGE };

static const struct {
	const char *status, *header, *text;
} outcomes[] = {
	[SHOWN] = {"200 OK", "", ""},
	[NOT_READY] = {"503 Service Unavailable", "", ""},
	[NO_REQUEST] = {"400 Bad Request", "", "this is no request of HTTP/1.1\n"},
	[NO_PAGE] = {"404 Not Found", "", "there is no such page\n"},
	[NO_METHOD] = {"405 Method Not Allowed", "Allow: GET, HEAD\r\n", "use GET\n"},
	[TOO_LARGE] = {"431 Request Header Fields Too Large", "", "the header is too large\n"},
};

static void end(struct http_conn *conn)
{
	waitlist_remove(&conn->waiter);
	conn->http->n_conns--;
	event_free(conn->readable);
	event_free(conn->writable);
	close(conn->fd);
	free(conn->reply);
	free(conn);
}

static struct http_conn *of_waiter(struct waiter *waiter)
{
	return container_of(waiter, struct http_conn, waiter);
}

static void on_expired(struct waiter *waiter)
{
	end(of_waiter(waiter));
}

/* Answering */

static void send_reply(struct http_conn *conn)
{
	while (conn->sent < conn->size) {
		ssize_t n = send(conn->fd, conn->reply + conn->sent, conn->size - conn->sent,
				 MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN) {
			event_add(conn->writable, NULL);
			return;
		}
		if (n < 0)
			break;
		conn->sent += (size_t)n;
	}
	end(conn);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	send_reply(arg);
}

/* Find the page of a request line, which is modified. *ret_head is true for HEAD. */
static enum outcome find_page(const struct http_page *pages, char *line, bool *ret_head,
			      const struct http_page **ret_page)
{
	line[strcspn(line, "\r\n")] = '\0';
	const char *method = strsep(&line, " ");
	char *path = line ? strsep(&line, " ") : NULL;

	if (!line || strncmp(line, "HTTP/1.", strlen("HTTP/1.")) != 0)
		return NO_REQUEST;
	*ret_head = strcmp(method, "HEAD") == 0;
	if (!*ret_head && strcmp(method, "GET") != 0)
		return NO_METHOD;
	path[strcspn(path, "?")] = '\0';
	while (pages->path && strcmp(pages->path, path) != 0)
		pages++;
	*ret_page = pages;
	return pages->path ? SHOWN : NO_PAGE;
}

static void answer(struct http_conn *conn, bool complete)
{
	const struct http *http = conn->http;
	const struct http_page *page = NULL;
	auto_free char *body = NULL;
	const char *type = "text/plain";
	bool head = false;
	size_t size;

	enum outcome outcome =
		complete ? find_page(http->pages, conn->request, &head, &page) : TOO_LARGE;
	FILE *out = open_memstream(&body, &size);
	if (outcome == SHOWN) {
		type = page->type;
		outcome = page->write(out, http->arg) < 0 ? NOT_READY : SHOWN;
	}
	fputs(outcomes[outcome].text, out);
	fclose(out);
	out = open_memstream(&conn->reply, &conn->size);
	fprintf(out,
		"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
		"Cache-Control: no-store\r\nConnection: close\r\n\r\n",
		outcomes[outcome].status, type, size, outcomes[outcome].header);
	if (!head)
		fwrite(body, 1, size, out);
	fclose(out);
	event_del(conn->readable);
	send_reply(conn);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct http_conn *conn = arg;
	const size_t most = limits_default.http_request;
	char *free_room = conn->request + conn->received;
	ssize_t n = recv(fd, free_room, most - conn->received, 0);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end(conn);
		return;
	}
	free_room[n] = '\0';
	conn->received += (size_t)n;
	bool complete = memmem(conn->request, conn->received, "\r\n\r\n", 4);
	if (complete || conn->received == most)
		answer(conn, complete);
}

/* Creation and end */

static void on_accepted(struct acceptor *acceptor, int fd)
{
	struct http *http = container_of(acceptor, struct http, acceptor);
	struct http_conn *conn = mem_alloc(sizeof(*conn) + limits_default.http_request + 1);

	if (http->n_conns == limits_default.http_connections)
		end(of_waiter(http->conns.first));
	http->n_conns++;
	conn->http = http;
	conn->fd = fd;
	conn->readable =
		event_new(loop_base(http->loop), fd, EV_READ | EV_PERSIST, on_readable, conn);
	conn->writable = event_new(loop_base(http->loop), fd, EV_WRITE, on_writable, conn);
	event_add(conn->readable, NULL);
	waitlist_add(&http->conns, &conn->waiter);
}

int http_new(struct http **ret, struct loop *loop, const char *endpoint, bool allow_plaintext,
	     const struct http_page *pages, void *arg, struct error *err)
{
	struct http *http = mem_alloc(sizeof(*http));

	if (acceptor_open(&http->acceptor, loop, endpoint, on_accepted, allow_plaintext, err) < 0) {
		free(http);
		return -1;
	}
	http->loop = loop;
	http->pages = pages;
	http->arg = arg;
	waitlist_init(&http->conns, loop, limits_default.http_connection_ms, on_expired);
	*ret = http;
	return 0;
}

void http_free(struct http *http)
{
	if (!http)
		return;
	acceptor_close(&http->acceptor);
	for (struct waiter *at = http->conns.first, *next; at; at = next) {
		next = at->next;
		end(of_waiter(at));
	}
	waitlist_fini(&http->conns);
	free(http);
}
