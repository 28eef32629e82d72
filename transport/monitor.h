/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_MONITOR_H
#define ZCSI_MONITOR_H

/*
 * A daemon's HTTP pages: /metrics for Prometheus; /health/live and /health/ready for what restarts
 * the daemon or routes calls to it. Loop thread only.
 */

#include <stdbool.h>
#include <stdio.h>

#include "common/error.h"
#include "transport/loop.h"
#include "transport/server.h"

struct monitor;

/* Callbacks of the application, on the loop: they must not block. Both may be NULL. */
struct monitor_app {
	void (*metrics)(void *app, FILE *out);
	/* 0 when calls would be served; -1 says why they would not. */
	int (*ready)(void *app, struct error *err);
	void *app;
};

/* A row for a daemon's table of options; text is static. */
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
 * Nothing is counted before the first one. It ends before the server and the loop. endpoint may be
 * NULL: there is none.
 */
int monitor_new(struct monitor **ret, struct loop *loop, struct server *server,
		const char *endpoint, bool allow_plaintext, const struct monitor_app *app,
		struct error *err);
void monitor_free(struct monitor *monitor);

#endif
