/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_VOLUME_NAME_H
#define ZCSI_VOLUME_NAME_H

/*
 * Hashes of the names that an agent has. A controller keeps them, so that it can compare names with
 * those of an agent that left its list. Two names with one hash are harmless: one is taken for the
 * other, and a call fails that could have succeeded.
 */

#include <stdint.h>

/* A snapshot has an id, and a name given to CreateSnapshot; in a group, it has the group's name. */
enum name_kind { NAME_VOLUME = 'v', NAME_SNAPSHOT_ID = 'i', NAME_SNAPSHOT = 's', NAME_GROUP = 'g' };

/* Returns the hash of a node id, the target of a claim; never 0. */
uint64_t name_hash_node(const char *node_id);
/* Returns the hash of a name of this kind. */
uint64_t name_hash(enum name_kind kind, const char *text);

#endif
