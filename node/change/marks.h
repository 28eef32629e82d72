/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CHANGE_MARKS_H
#define ZCSI_NODE_CHANGE_MARKS_H

/*
 * The datasets of volumes that have a property as long as a change of them is not finished, such as
 * zcsi:rollback. A zcsi-node that starts reads there what an earlier one has begun.
 */

#include "common/error.h"
#include "common/mem.h"

struct mark {
	const char *dataset; /* name of the dataset below the parent, or in a folder there */
	const char *id;      /* id of its volume */
	const char *value;   /* value of the property */
};

struct marks {
	struct arena *arena;
	const char *parent;
	const char *property;
	/* The begin of the name, below the parent, of the dataset that becomes the volume. */
	const char *next;
};

typedef int marks_fn(void *arg, const struct mark *mark, struct error *err);

/*
 * Call fn for each dataset with the local property, until fn returns -1. The strings of the mark
 * are in the arena. A dataset with a control character in these values has no mark, which is
 * logged; but if its volume is missing and may come of this dataset, it is an error. Runs zfs(8).
 * Returns 0, or -1 with *err.
 */
int marks_each(const struct marks *marks, marks_fn *fn, void *arg, struct error *err);

#endif
