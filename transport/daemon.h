/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_DAEMON_H
#define ZCSI_DAEMON_H

/*
 * A serving process: its loop, its workers, its server, and its end. SIGTERM or SIGINT makes it
 * finish the running calls and stop; a second signal ends the process at once, with status 1.
 */

#include "common/error.h"
#include "transport/loop.h"
#include "transport/monitor.h"
#include "transport/server.h"
#include "transport/workers.h"

struct daemon {
	struct loop *loop;
	struct workers *workers;
	struct server *server;
	struct monitor *monitor; /* NULL without a metrics endpoint; freed by daemon_fini */
	bool stopping;           /* true after the first signal */
	struct loop_timer *late; /* timer that calls overdue(), drain_ms after the first signal */
	/*
	 * Called on the loop if calls still run limits_default.drain_ms after the first signal; set
	 * it after daemon_init, or leave it NULL.
	 */
	void (*overdue)(void *arg);
	void *overdue_arg;
};

/*
 * Create the loop, n_workers workers and the server, and handle signals from here on. The caller
 * calls daemon_fini even after -1.
 */
int daemon_init(struct daemon *daemon, unsigned n_workers, struct error *err);
/*
 * Like daemon_init, with lanes (workers_bound): bounds[i] is the bound of lane i, and there are as
 * many workers as all n lanes may use.
 */
int daemon_init_lanes(struct daemon *daemon, const unsigned *bounds, unsigned n, struct error *err);
/*
 * Notify systemd of readiness, then serve until a signal has stopped the server and every call is
 * answered. The caller opens all endpoints before.
 */
void daemon_run(struct daemon *daemon);
/* Free everything. after_handlers, unless NULL, runs after the last handler, before loop_free. */
void daemon_fini(struct daemon *daemon, void (*after_handlers)(void *arg), void *arg);

#endif
