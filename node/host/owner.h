/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_HOST_OWNER_H
#define ZCSI_NODE_HOST_OWNER_H

#include "node/host/node.h"
#include "node/record/ownership.h"

/*
 * The check that this host still is the owner of a volume with copies. Another node may have taken
 * the volume over while this host was down (node/record/ownership.h). Any thread.
 */

struct owners;

struct owners *owners_new(void);
/* Free it, which may be NULL. */
void owners_free(struct owners *owners);
/*
 * Report that since the start of zcsi-node all nodes with copies were asked once, and what they
 * answered is recorded next, by calls in the queues of the volumes; or that it was recorded.
 */
void owners_answered(struct owners *owners);
void owners_asked(struct owners *owners);
/*
 * For a volume with copies: wait for owners_asked, at most until the deadline, and at most 30
 * seconds, then call owner_check. Returns as that, or -1 with ERR_UNAVAILABLE. A call that waits
 * has the queue of the volume, so it waits no longer than until owners_answered if that is needed.
 */
int owner_wait(const struct node *node, const struct dataset *volume, int64_t deadline,
	       struct error *err);
/*
 * Check that the volume may be used here: since this host was booted, more than half of the members
 * have said that no other node has it. Returns 0, or -1 with ERR_FAILED_PRECONDITION.
 */
int owner_check(const struct node *node, const struct dataset *volume, struct error *err);
/* Returns true if the members have said so, and no other node took the volume over. */
bool owner_is_confirmed(const struct node *node, const struct dataset *volume);
/* Returns zcsi:owner with which the volume may be used, in the arena; now: its value, or "". */
char *owner_text(const struct node *node, struct arena *arena, const char *now);
/*
 * Record who owns a volume of this host: in ZFS, in the catalog, and in *volume. If another node
 * took it over, its publications are removed too. Runs programs. Returns 0, or -1 with *err. The
 * caller keeps other changes of the volume away.
 */
int owner_record(const struct node *node, struct arena *arena, struct dataset *volume,
		 const struct ownership *ownership, struct error *err);
/* Record that this host is the owner. As owner_record. */
int owner_confirm(const struct node *node, struct arena *arena, struct dataset *volume,
		  struct error *err);
/* Returns the id that the kernel gave to this boot, in the arena; another one if it has none. */
char *owner_boot(struct arena *arena);

#endif
