/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_MIDDLE_H
#define ZCSI_TEST_MIDDLE_H

/*
 * Somebody between client and server, on a thread of his own. He passes on what they say, frame by
 * frame, or with TLS record by record; and after so many of them he does something, once.
 */

#include <stdbool.h>
#include <stddef.h>

enum { TO_SERVER, TO_CLIENT, WAYS };

enum deed { NOTHING, HANG_UP, RESET_BOTH, LEAVE_SERVER, LEAVE_CLIENT, SILENCE, DEAF_TO_SERVER };

struct fault {
	const char *name;
	int to; /* to whom he says these bytes first */
	const char *bytes;
	size_t n;
	enum deed deed;
};

/* Between those who connect to the port that is returned and a server's. */
int middle_start(const struct fault *fault, unsigned after, bool tls, int server_port);
/* Did it come to that? */
bool middle_stop(void);

#endif
