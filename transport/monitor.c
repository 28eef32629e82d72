/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The monitoring pages. "Live" means that the loop runs; "ready", that new calls are accepted and
 * the application can serve them.
 *
 * Invariant: a page is written on the loop from data in memory. No page runs a program, waits for a
 * worker or contacts another host.
 */
#include "transport/monitor.h"

#include <stdlib.h>
#include <time.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/metrics.h"
#include "common/process.h"
#include "transport/http.h"
#include "transport/metrics.h"

struct monitor {
	struct http *http;
	const struct server *server;
	struct monitor_app app;
	time_t started;
};

static int write_metrics(FILE *out, void *arg)
{
	const struct monitor *monitor = arg;

	process_metrics(out, monitor->started);
	metrics_write(out);
	server_metrics(monitor->server, out);
	if (monitor->app.metrics)
		monitor->app.metrics(monitor->app.app, out);
	return 0;
}

static int write_live(FILE *out, void *arg)
{
	(void)arg;
	fputs("live\n", out);
	return 0;
}

static int write_ready(FILE *out, void *arg)
{
	const struct monitor *monitor = arg;
	struct error err;
	int result = 0;

	if (server_is_draining(monitor->server))
		result = fail(&err, ERR_UNAVAILABLE, "it is stopping");
	else if (monitor->app.ready)
		result = monitor->app.ready(monitor->app.app, &err);
	fprintf(out, "%s\n", result < 0 ? err.text : "ready");
	return result;
}

#define TEXT "text/plain; charset=utf-8"

static const struct http_page pages[] = {
	{"/metrics", "text/plain; version=0.0.4; charset=utf-8", write_metrics},
	{"/health/live", TEXT, write_live},
	{"/health/ready", TEXT, write_ready},
	{NULL, NULL, NULL},
};

int monitor_new(struct monitor **ret, struct loop *loop, struct server *server,
		const char *endpoint, bool allow_plaintext, const struct monitor_app *app,
		struct error *err)
{
	if (!endpoint)
		return 0;
	struct monitor *monitor = mem_alloc(sizeof(*monitor));
	monitor->server = server;
	monitor->app = *app;
	monitor->started = time(NULL);
	if (http_new(&monitor->http, loop, endpoint, allow_plaintext, pages, monitor, err) < 0) {
		free(monitor);
		return -1;
	}
	metrics_enable();
	log_debug("monitor is listening", log_str("endpoint", endpoint));
	*ret = monitor;
	return 0;
}

void monitor_free(struct monitor *monitor)
{
	if (!monitor)
		return;
	http_free(monitor->http);
	free(monitor);
}
