/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_MIDDLE_H
#define ZCSI_TEST_MIDDLE_H

/* A relay between client and server, in a thread of its own. It forwards frame by frame, or with
 * TLS record by record. After a given number of them it causes one fault. */

#include <stdbool.h>
#include <stddef.h>

enum { TO_SERVER, TO_CLIENT, WAYS };

enum action {
	NOTHING,
	CLOSE_BOTH,
	RESET_BOTH,
	END_TO_SERVER,
	END_TO_CLIENT,
	DROP_ALL,
	DROP_TO_CLIENT
};

struct fault {
	const char *name;
	int to; /* TO_SERVER or TO_CLIENT, the direction in which bytes are sent first */
	const char *bytes;
	size_t n;
	enum action action;
};

/* Start the relay to the server's port. Returns the port of the relay. */
int middle_start(const struct fault *fault, unsigned after, bool tls, int server_port);
/* Stop the relay. Returns true if the fault occurred. */
bool middle_stop(void);

#endif
