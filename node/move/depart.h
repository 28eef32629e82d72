/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOVE_DEPART_H
#define ZCSI_NODE_MOVE_DEPART_H

/*
 * Giving a volume to another node. Runs programs and waits for the other node, for hours: on a
 * thread of the mover only.
 */

#include <stdatomic.h>

#include "node/copy/transfer.h"
#include "node/host/node.h"
#include "node/move/step.h"

struct depart {
	const struct node *node;
	const char *id, *to;
	struct transfer_progress *progress; /* the running stream's */
	const atomic_bool *cancelled;       /* set by another thread to end the move */
	atomic_bool *given_up;              /* set once only the other node can finish the move */
	void *arg;                          /* the first argument of transfers and retries */
	/* Report the transfer that runs, so that another thread can cancel it; NULL: none does. */
	void (*transfers)(void *arg, struct transfer *transfer);
	/*
	 * Report why the volume is on no node, or is here without its device, and wait before the
	 * next try. Returns false if zcsi-node is stopping.
	 */
	bool (*retries)(void *arg, const struct error *err);

	/* The members from here on are private to depart.c and the files that it calls. */
	struct arena arena;     /* emptied before each step */
	enum place_role role;   /* the volume's, when the pool was last read */
	bool unusable;          /* the volume is a copy or without its device, or may soon be */
	bool stays;             /* the volume is to stay on this host */
	struct error why;       /* why the volume is to stay */
	bool shown;             /* the device was given back */
	bool arrived, promoted; /* as in struct move_view */
};

/*
 * Move the volume, or finish a move that an earlier zcsi-node began. Returns 0 if the other node
 * has the volume, or -1 with *err: the volume stays here, or was given up and zcsi-node is
 * stopping.
 */
int depart_run(struct depart *depart, struct error *err);
/* Returns the next step of the move; place: as just read from the pool. */
enum move_step depart_next(const struct depart *depart, const struct place *place);

#endif
