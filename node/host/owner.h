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
/* Free the struct, which may be NULL. */
void owners_free(struct owners *owners);
/*
 * Report that all nodes with copies were asked once since zcsi-node was started. ids: the volumes
 * for which their answers are recorded next, in the queues of the calls for the volumes. A second
 * report changes nothing.
 */
void owners_answered(struct owners *owners, const char *const *ids, size_t n);
/* Report that the answers are recorded for a volume; or for all, perhaps none (owners_asked). */
void owners_recorded(struct owners *owners, const char *id);
void owners_asked(struct owners *owners);
/*
 * Wait until owner_check can judge a volume with copies: for owners_answered or owners_asked, at
 * most until the deadline, and at most 30 seconds. Returns 0; 1 after a wait, when the caller has
 * to read the volume and call owner_wait again; or -1 with ERR_UNAVAILABLE. Fails, without waiting,
 * if only the answers for this volume are not recorded yet, because the caller may hold the
 * volume's queue.
 */
int owner_wait(const struct node *node, const struct dataset *volume, int64_t deadline,
	       struct error *err);
/*
 * Check that the volume may be used here: since this host was booted, more than half of the members
 * have said that no other node has it. Returns 0, or -1 with ERR_FAILED_PRECONDITION.
 */
int owner_check(const struct node *node, const struct dataset *volume, struct error *err);
/* Returns true if the members have confirmed this host as the owner since it was booted. */
bool owner_is_confirmed(const struct node *node, const struct dataset *volume);
/*
 * Returns a zcsi:owner with which the volume may be used, in the arena; now: the present one, or
 * "".
 */
char *owner_text(const struct node *node, struct arena *arena, const char *now);
/*
 * Record who owns a volume of this host: in ZFS, in the catalog, and in *volume. If another node
 * took it over, its publications are removed too. Runs programs. Returns 0, or -1 with *err. The
 * caller keeps other changes of the volume away.
 */
int owner_record(const struct node *node, struct arena *arena, struct dataset *volume,
		 const struct ownership *ownership, struct error *err);
/* Record that the members have confirmed this host as the owner. Else as owner_record. */
int owner_confirm(const struct node *node, struct arena *arena, struct dataset *volume,
		  struct error *err);
/* Returns the kernel's id of this boot, in the arena; a random id if the kernel has none. */
char *owner_boot(struct arena *arena);

#endif
