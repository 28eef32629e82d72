/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_PUBLICATION_CHANGE_H
#define ZCSI_NODE_RECORD_PUBLICATION_CHANGE_H

/*
 * Changes of the list of publications, by the rules of CSI's access modes. The holder is the node
 * that has the pool. Results live in the arena. Any thread.
 */

#include "common/error.h"
#include "node/record/publication.h"

/*
 * Publish the volume `id` to one more node, if the access modes allow it. Other publications that
 * do not hold the volume (publication_holds) give way. Returns 1 with the new list in *ret, 0 if
 * the list has the wanted publication already, or -1: ERR_ALREADY_EXISTS if the same node has an
 * incompatible one, ERR_FAILED_PRECONDITION, naming the node, if that of another node excludes it,
 * ERR_UNAVAILABLE if the text was unreadable.
 */
int publication_admit(struct arena *arena, const char *id, const char *holder,
		      const struct publication_list *list, const struct publication *want,
		      struct publication_list *ret, struct error *err);
/*
 * Allow a staging on the holder, want->node_id. Returns 1 with the new list in *ret if the holder's
 * publication was idle, 0 if nothing changes, or -1 with ERR_FAILED_PRECONDITION, naming the node,
 * if the holder has no publication and that of another node, by NFS, excludes the staging.
 */
int publication_stage(struct arena *arena, const char *id, const struct publication_list *list,
		      const struct publication *want, struct publication_list *ret,
		      struct error *err);
/*
 * Mark the publication to the holder idle. *ret is the new list. Returns true if it differs from
 * the old one.
 */
bool publication_rest(struct arena *arena, const struct publication_list *list, const char *holder,
		      struct publication_list *ret);
/*
 * Remove one node from the list, or all if node_id is "". *ret is the new list. Returns true if
 * it differs from the old one.
 */
bool publication_withdraw(struct arena *arena, const struct publication_list *list,
			  const char *node_id, struct publication_list *ret);

#endif
