/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_PUBLICATION_H
#define ZCSI_NODE_RECORD_PUBLICATION_H

/*
 * The nodes that a volume is published to: the text of its property zcsi:published, and the rules
 * of CSI's access modes. Results live in the arena. Any thread.
 *
 *	<escaped node id>:<access mode>:<rw|ro>[:<escaped address>], joined by ','
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/mem.h"

struct publication {
	const char *node_id;
	int access_mode; /* CSI's VolumeCapability.AccessMode.Mode */
	bool readonly;
	const char *address; /* the address it is exported to by NFS; "" on the host of the pool */
};

struct publication_list {
	struct publication *rows;
	size_t n;
};

/*
 * The node id in place of an unreadable text. No node has this id, so the volume stays published
 * until all publications are removed.
 */
#define PUBLICATION_UNREADABLE "?"

/* Returns true if CSI defines this access mode. */
bool access_mode_known(int access_mode);
/* Returns true if this access mode forbids writing. */
bool access_mode_readonly(int access_mode);
/* Returns true if neither the flag readonly nor the access mode forbids writing. */
bool publication_writes(const struct publication *publication);

/* Parse the text of zcsi:published. If it is unreadable, *ret is one PUBLICATION_UNREADABLE row. */
void publication_parse(struct arena *arena, const char *text, struct publication_list *ret);
/* Returns the text of the list; "-" if it is empty, because zfs-fuse refuses an empty value. */
char *publication_format(struct arena *arena, const struct publication_list *list);
/* Returns the nodes of the list for an error text: "node 'a', node 'b'". */
char *publication_names(struct arena *arena, const struct publication_list *list);

/*
 * Publish the volume `id` to one more node, if the access modes allow it. Returns 1 with the new
 * list in *ret, 0 if the list has it already as wanted, or -1: ERR_ALREADY_EXISTS if the same node
 * has it in another way, ERR_FAILED_PRECONDITION, naming the node, if another node excludes it.
 */
int publication_admit(struct arena *arena, const char *id, const struct publication_list *list,
		      const struct publication *want, struct publication_list *ret,
		      struct error *err);
/*
 * Remove one node from the list, or all if node_id is "". *ret is the new list. Returns true if
 * it differs from the old one.
 */
bool publication_withdraw(struct arena *arena, const struct publication_list *list,
			  const char *node_id, struct publication_list *ret);

#endif
