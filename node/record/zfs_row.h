/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_ZFS_ROW_H
#define ZCSI_NODE_RECORD_ZFS_ROW_H

/*
 * The raw properties of one dataset or snapshot, as `zfs get -Hp -o name,property,value,source`
 * prints them. Any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/mem.h"

/*
 * The values of properties, as pointers into the output; NULL if it did not contain the property. A
 * user property (zcsi:*) is stored only if it is set on the dataset itself.
 */
struct zfs_row {
	const char *name;
	bool damaged; /* a value has a line break or another control character; none is stored */
	/* native properties */
	const char *type, *guid, *creation, *available, *used, *refquota, *volsize;
	const char *refreservation, *defer_destroy, *encryption_root;
	/* user properties, without their prefix zcsi: */
	const char *version, *volume, *parameters, *published, *source, *root, *deleted;
	const char *snapshot, *size, *group, *format, *formatted, *members, *push, *keep;
	const char *epoch, *owner, *staged;
	/* a snapshot's zcsi:volume, and the dataset that it is inherited from */
	const char *volume_inherited, *inherited_from;
};

/*
 * Returns the list of properties for `zfs get`, which begins with the marker and ends with a native
 * property (zfs_rows.h). openzfs is false for zfs-fuse, which has fewer.
 */
char *zfs_row_properties(struct arena *arena, const char *marker, bool openzfs);

/*
 * Split "name\tproperty\tvalue\tsource" in place; only a value may contain tabs. The name is the
 * beginning of the line. Returns false if the line has another form.
 */
bool zfs_row_split(char *line, char **ret_property, char **ret_value, char **ret_source);

/* Store one property in the row, or drop it if the row has no place for it. */
void zfs_row_set(struct zfs_row *row, const char *property, const char *value, const char *source);

/* Returns "" for "-", which zfs prints for a value that is not there, else the value. */
char *zfs_row_text(char *value);
/* Returns true if the text is not NULL and begins with a digit, so it is no "-" and no "none". */
bool zfs_row_is_number(const char *text);
/* Returns the number that zfs -p printed; 0 for NULL, "-" and "none". */
int64_t zfs_row_number(const char *text);

#endif
