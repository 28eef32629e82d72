/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_PUBLICATION_H
#define ZCSI_NODE_RECORD_PUBLICATION_H

/*
 * Which nodes may use a volume: the text of its zcsi:published property, and the access modes'
 * rules. Pure functions; what they make lives in the arena.
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
	const char *address; /* to which it is exported by NFS; "" on the node that has it */
};

struct publication_list {
	struct publication *rows;
	size_t n;
};

/* The node of a text that cannot be read; nobody's id, so the volume stays published. */
#define PUBLICATION_UNREADABLE "?"

bool access_mode_known(int access_mode);
bool access_mode_readonly(int access_mode);
/* By its readonly or by its mode. */
bool publication_writes(const struct publication *publication);

void publication_parse(struct arena *arena, const char *text, struct publication_list *ret);
/* "-" for an empty list: zfs-fuse takes no empty value. */
char *publication_format(struct arena *arena, const struct publication_list *list);
/* "node 'a', node 'b'" */
char *publication_names(struct arena *arena, const struct publication_list *list);

/*
 * Add a node to the list if the access modes allow it. 1: it is in *ret now, where it may have
 * been with another address; 0: it was there already, as asked; -1: ERR_ALREADY_EXISTS when the
 * same node has it otherwise, ERR_FAILED_PRECONDITION when another node does, which is named.
 */
int publication_admit(struct arena *arena, const char *id, const struct publication_list *list,
		      const struct publication *want, struct publication_list *ret,
		      struct error *err);
/* Without one node, or without all when node_id is "". True when that is a change. */
bool publication_withdraw(struct arena *arena, const struct publication_list *list,
			  const char *node_id, struct publication_list *ret);

#endif
