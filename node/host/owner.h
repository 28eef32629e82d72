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
 * Report that since the start of zcsi-node all nodes with copies were asked once. ids: the volumes
 * of which it is recorded next what they answered, by calls in the queues of the volumes. Reported
 * again it changes nothing.
 */
void owners_answered(struct owners *owners, const char *const *ids, size_t n);
/* Report that it was recorded for a volume; or for all, or that there are none. */
void owners_recorded(struct owners *owners, const char *id);
void owners_asked(struct owners *owners);
/*
 * Wait until owner_check can tell of a volume with copies: for owners_answered or owners_asked, at
 * most until the deadline, and at most 30 seconds. Returns 0; 1 after a wait, when the volume is to
 * be read and this to be called again; or -1 with ERR_UNAVAILABLE. What is still to be recorded is
 * not waited for, since the caller may have the queue of the volume.
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
