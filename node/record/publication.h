/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_PUBLICATION_H
#define ZCSI_NODE_RECORD_PUBLICATION_H

/*
 * The nodes that a volume is published to: the text of its property zcsi:published, and CSI's
 * access modes. Results live in the arena. Any thread.
 *
 *	<escaped node id>:<access mode>:<rw|ro>[-idle][:<escaped address>], joined by ','
 *
 * An idle publication is one whose last staging has ended. Its node may stage the volume again, and
 * until then another publication may take its place. The holder is the node that has the pool.
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/mem.h"
#include "node/record/dataset.h"

struct publication {
	const char *node_id;
	int access_mode; /* CSI's VolumeCapability.AccessMode.Mode */
	bool readonly;
	const char *address; /* the address it is exported to by NFS; "" on the host of the pool */
	bool idle;
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
/* Returns the name of the access mode in CSI, for error texts. Static text. */
const char *access_mode_name(int access_mode);
/* Returns true if this access mode allows several nodes. */
bool access_mode_shared(int access_mode);
/* Returns true if this access mode forbids writing. */
bool access_mode_readonly(int access_mode);
/* Returns true if neither the flag readonly nor the access mode forbids writing. */
bool publication_writes(const struct publication *publication);

/* Returns true for the row of an unreadable text. */
bool publication_is_unreadable(const struct publication *publication);
/*
 * Returns true if the publication keeps others from the volume: it is not idle, and its node can
 * use the volume: by NFS, or as its holder. One that was made while the host of the pool had
 * another node id does not count. An unreadable publication counts.
 */
bool publication_holds(const struct publication *publication, const char *holder);

/* Parse the text of zcsi:published. If it is unreadable, *ret is one PUBLICATION_UNREADABLE row. */
void publication_parse(struct arena *arena, const char *text, struct publication_list *ret);
/* Returns the text of the list; "-" if it is empty, because zfs-fuse refuses an empty value. */
char *publication_format(struct arena *arena, const struct publication_list *list);
/*
 * Returns the nodes whose publications hold the volume, for an error text: "node 'a', node 'b'"; ""
 * if there are none.
 */
char *publication_names(struct arena *arena, const struct publication_list *list,
			const char *holder);
/*
 * Check that no publication holds a volume. Returns 0, or -1 with ERR_FAILED_PRECONDITION, which
 * says what to do.
 */
int publication_check_none(struct arena *arena, const struct dataset *volume, const char *holder,
			   struct error *err);

#endif
