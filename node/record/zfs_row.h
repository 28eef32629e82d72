/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_ZFS_ROW_H
#define ZCSI_NODE_RECORD_ZFS_ROW_H

/* What the lines of `zfs get -Hp -o name,property,value,source` say of one dataset or snapshot. */

#include <stdbool.h>
#include <stdint.h>

/*
 * Pointers into the lines; NULL is what they did not say. The second row and those after it are
 * user properties of ours (zcsi:*), and here only when set on the dataset itself.
 */
struct zfs_row {
	const char *name, *type, *guid, *creation, *available, *used;
	const char *refquota, *volsize, *refreservation, *origin, *deferred, *encryption_root;
	const char *version, *volume, *parameters, *published, *source, *root, *deleted;
	const char *snapshot, *size, *group, *format, *formatted;
	/* zcsi:volume of a snapshot's dataset, and the name of that dataset. */
	const char *volume_inherited, *inherited_from;
};

/* The properties that an entry has, as `zfs get` wants them: of OpenZFS, or of zfs-fuse. */
const char *zfs_row_properties(bool openzfs);

/* Cut "name\tproperty\tvalue\tsource" in place; a value may hold tabs, the others do not. */
bool zfs_row_cut(char *line, char **ret_property, char **ret_value, char **ret_source);

void zfs_row_take(struct zfs_row *row, const char *property, const char *value, const char *source);

/* A number of zfs -p. NULL, "-" and "none" are 0. */
int64_t zfs_row_number(const char *text);

#endif
