/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_HTTP_H
#define ZCSI_HTTP_H

/*
 * A few pages over HTTP/1.1, for monitoring: GET and HEAD, no body, one request a connection. Loop
 * thread only.
 */

#include <stdbool.h>
#include <stdio.h>

#include "common/error.h"
#include "transport/loop.h"

struct http;

struct http_page {
	const char *path; /* "/metrics" */
	const char *type; /* Content-Type */
	/* Write it, without blocking: 0 is status 200, -1 is 503. */
	int (*write)(FILE *out, void *arg);
};

/*
 * Serve pages at an endpoint (acceptor.h). The array ends with a row without a path; it and arg
 * outlive the server.
 */
int http_new(struct http **ret, struct loop *loop, const char *endpoint, bool allow_plaintext,
	     const struct http_page *pages, void *arg, struct error *err);
void http_free(struct http *http);

#endif
