/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_HTTP_H
#define ZCSI_HTTP_H

/*
 * A few pages over HTTP/1.1, for monitoring: GET and HEAD, no request body, one request per
 * connection. Loop thread only.
 */

#include <stdbool.h>
#include <stdio.h>

#include "common/error.h"
#include "transport/loop.h"

struct http;

struct http_page {
	const char *path; /* path such as "/metrics"; NULL in the last row of a table */
	const char *type; /* value of Content-Type */
	/* Write the body to out without blocking. Returns 0 for status 200, -1 for 503. */
	int (*write)(FILE *out, void *arg);
};

/*
 * Serve pages at an endpoint, under the rules of acceptor_open. The table of pages and arg, which
 * is passed to write, outlive the server.
 */
int http_new(struct http **ret, struct loop *loop, const char *endpoint, bool allow_plaintext,
	     const struct http_page *pages, void *arg, struct error *err);
void http_free(struct http *http);

#endif
