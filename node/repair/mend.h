/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_REPAIR_MEND_H
#define ZCSI_NODE_REPAIR_MEND_H

#include <stdio.h>

#include "node/host/node.h"
#include "node/peers/peers.h"
#include "node/repair/silence.h"

/* The answers of all agents, and the silences that follow. */
struct survey {
	const struct peers_host *hosts;
	size_t n;
	struct silences *silences; /* silences of members of volumes that are repaired */
	int64_t now;               /* the time of the survey, a now_ms() value */
};

/*
 * Take the next step of a volume's repair, if there is one: as a call for the volume, read the
 * volume again and change its members. Failures are logged. Runs programs, and waits for other
 * nodes. Any thread but the loop's and the workers.
 */
void mend(const struct node *node, const struct survey *survey, const struct dataset *volume);
/* Write the metrics of repairs. Any thread. */
void mend_metrics_write(FILE *out);

#endif
