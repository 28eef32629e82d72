/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A small HTTP/1.1 server. Only the first line of a request counts; the headers are read to their
 * end, and every answer ends its connection.
 *
 * Anyone who reaches the port may connect, so everything is bounded: the bytes of a request, the
 * time from accept to close however slowly bytes come, and the number of connections, of which the
 * oldest is evicted. Invariant: a connection is in the waitlist from its first event to its end, so
 * its time runs out whatever it waits for.
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
	struct waitlist visits; /* the oldest first */
	unsigned n_visits;
};

struct visit {
	struct waiter waiter;
	struct http *http;
	int fd;
	struct event *readable, *writable;
	char *reply;
	size_t size, sent;
	size_t received;
	char request[]; /* limits.h: visit */
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

static void end(struct visit *visit)
{
	waitlist_remove(&visit->waiter);
	visit->http->n_visits--;
	event_free(visit->readable);
	event_free(visit->writable);
	close(visit->fd);
	free(visit->reply);
	free(visit);
}

static struct visit *of_waiter(struct waiter *waiter)
{
	return container_of(waiter, struct visit, waiter);
}

static void on_expired(struct waiter *waiter)
{
	end(of_waiter(waiter));
}

/* Answering */

static void send_reply(struct visit *visit)
{
	while (visit->sent < visit->size) {
		ssize_t n = send(visit->fd, visit->reply + visit->sent, visit->size - visit->sent,
				 MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN) {
			event_add(visit->writable, NULL);
			return;
		}
		if (n < 0)
			break;
		visit->sent += (size_t)n;
	}
	end(visit);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	send_reply(arg);
}

/* Find the page that the request line asks for. Cuts the line up. */
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

static void answer(struct visit *visit, bool complete)
{
	const struct http *http = visit->http;
	const struct http_page *page = NULL;
	auto_free char *body = NULL;
	const char *type = "text/plain";
	bool head = false;
	size_t size;

	enum outcome outcome =
		complete ? find_page(http->pages, visit->request, &head, &page) : TOO_LARGE;
	FILE *out = open_memstream(&body, &size);
	if (outcome == SHOWN) {
		type = page->type;
		outcome = page->write(out, http->arg) < 0 ? NOT_READY : SHOWN;
	}
	fputs(outcomes[outcome].text, out);
	fclose(out);
	out = open_memstream(&visit->reply, &visit->size);
	fprintf(out,
		"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
		"Cache-Control: no-store\r\nConnection: close\r\n\r\n",
		outcomes[outcome].status, type, size, outcomes[outcome].header);
	if (!head)
		fwrite(body, 1, size, out);
	fclose(out);
	event_del(visit->readable);
	send_reply(visit);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct visit *visit = arg;
	const size_t most = limits_default.http_request;
	char *free_room = visit->request + visit->received;
	ssize_t n = recv(fd, free_room, most - visit->received, 0);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end(visit);
		return;
	}
	free_room[n] = '\0';
	visit->received += (size_t)n;
	bool complete = memmem(visit->request, visit->received, "\r\n\r\n", 4);
	if (complete || visit->received == most)
		answer(visit, complete);
}

/* Life */

static void on_accepted(struct acceptor *acceptor, int fd)
{
	struct http *http = container_of(acceptor, struct http, acceptor);
	struct visit *visit = mem_alloc(sizeof(*visit) + limits_default.http_request + 1);

	if (http->n_visits == limits_default.http_connections)
		end(of_waiter(http->visits.first));
	http->n_visits++;
	visit->http = http;
	visit->fd = fd;
	visit->readable =
		event_new(loop_base(http->loop), fd, EV_READ | EV_PERSIST, on_readable, visit);
	visit->writable = event_new(loop_base(http->loop), fd, EV_WRITE, on_writable, visit);
	event_add(visit->readable, NULL);
	waitlist_add(&http->visits, &visit->waiter);
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
	waitlist_init(&http->visits, loop, limits_default.http_connection_ms, on_expired);
	*ret = http;
	return 0;
}

void http_free(struct http *http)
{
	if (!http)
		return;
	acceptor_close(&http->acceptor);
	for (struct waiter *at = http->visits.first, *next; at; at = next) {
		next = at->next;
		end(of_waiter(at));
	}
	waitlist_fini(&http->visits);
	free(http);
}
