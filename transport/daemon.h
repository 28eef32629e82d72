/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_DAEMON_H
#define ZCSI_DAEMON_H

/*
 * A process that serves: its loop, its workers, its server, and how it ends. SIGTERM and SIGINT
 * finish what runs; a second one ends the process at once, with status 1.
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
	struct monitor *monitor; /* NULL: none */
	bool stopping;
};

/* Ends in daemon_fini, also when it fails. Signals are watched from here on. */
int daemon_init(struct daemon *daemon, unsigned n_workers, struct error *err);
/*
 * Serve until a signal ends it and every call is answered. All endpoints listen before, and systemd
 * is notified.
 */
void daemon_run(struct daemon *daemon);
/* No handler runs any more when the workers and the server are gone; the loop goes last. */
void daemon_fini(struct daemon *daemon, void (*after_handlers)(void *arg), void *arg);

#endif
