/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_MONITOR_H
#define ZCSI_MONITOR_H

/*
 * The HTTP pages of a daemon: /metrics for Prometheus, and /health/live and /health/ready for the
 * program that restarts the daemon or routes calls to it. Loop thread only.
 */

#include <stdbool.h>
#include <stdio.h>

#include "common/error.h"
#include "transport/loop.h"
#include "transport/server.h"

struct monitor;

/* Callbacks of the application. They run on the loop and must not block. Each may be NULL. */
struct monitor_app {
	/* Write further metrics. */
	void (*metrics)(void *app, FILE *out);
	/* Returns 0 if calls can be served, or -1 with the reason in *err. */
	int (*ready)(void *app, struct error *err);
	void *app; /* argument of metrics and ready */
};

/* Row of a daemon's option table. text is a static variable that receives the endpoint. */
#define MONITOR_OPTION(text)                                                                       \
	{                                                                                          \
		.name = "metrics", .env = "ZCSI_METRICS", .metavar = "ENDPOINT",                   \
		.help = "Serve /metrics (for Prometheus), /health/live and /health/ready here: "   \
			"tcp://HOST:PORT, such as tcp://127.0.0.1:9464, or unix:///PATH. It is "   \
			"plain HTTP, with or without TLS elsewhere, and beyond loopback needs "    \
			"--insecure.",                                                             \
		.ret_text = &(text)                                                                \
	}

/*
 * Serve the pages at an endpoint; does nothing if endpoint is NULL. Counters start to count with
 * the first monitor. Free the monitor before the server and the loop. Returns -1 as acceptor_open.
 */
int monitor_new(struct monitor **ret, struct loop *loop, struct server *server,
		const char *endpoint, bool allow_plaintext, const struct monitor_app *app,
		struct error *err);
void monitor_free(struct monitor *monitor);

#endif
