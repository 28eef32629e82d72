/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CHECK_CHECK_H
#define ZCSI_NODE_CHECK_CHECK_H

/*
 * Checks of what this host has and lacks for its volumes, for zcsi-node --check and for CheckHost.
 * They change nothing, and are complete in whatever state the host is. Functions block. One thread.
 */

#include <stdbool.h>
#include <stdio.h>

#include "common/error.h"
#include "common/mem.h"
#include "node/host/settings.h"

enum need {
	NEEDED,   /* by all volumes */
	OPTIONAL, /* only by some kinds of volumes */
};

/* A thing that was checked. */
struct check_row {
	struct check_row *next; /* in the order of the checks */
	enum need need;
	const char *thing;
	const char *remedy; /* why it is missing, and what to do; NULL: it is there */
};

struct check {
	const struct settings *settings;
	struct arena *arena; /* for the rows, and all that they point to */
	struct check_row *rows, **end;
	FILE *out; /* each row is printed here at once; NULL: no row is printed */
};

/* Begin checks, which have no rows yet. */
void check_begin(struct check *check, const struct settings *settings, struct arena *arena,
		 FILE *out);
/*
 * Check everything and print the report to out, a line for each thing: "ok THING", "optional THING:
 * REMEDY", or "MISSING THING: REMEDY" if it is needed. Returns true if no thing is MISSING.
 */
bool check_report(const struct settings *settings, FILE *out);

/* Check the kernel, the capabilities of this process, and its mount namespace. */
void check_system(struct check *check);
/* Check ZFS, the pool and the parent dataset. */
void check_zfs(struct check *check);
/* Add a row for each thing that bugs of OpenZFS may damage; missing: this version has the bugs. */
void check_bugs(struct check *check, const char *version);
/*
 * Returns the effects on a thing of the bugs in this version of OpenZFS, and what to do, as a
 * remedy for check_has; NULL without such bugs, or if the text is not a version. Pure.
 */
enum bugs_of { BUGS_OF_COPIES, BUGS_OF_SENDS, BUGS_OF_FILES };
const char *check_version_bugs(enum bugs_of thing, const char *version);
/* Check the programs and services that only some kinds of volumes need. */
void check_optional(struct check *check);
/* Check the permissions of the user of --zfs-user or --zfs-over-ssh. Only with the kernel's ZFS. */
void check_allow(struct check *check);
/* Add a copy of the row, and print it if check->out is set. */
void check_add(struct check *check, const struct check_row *row);
/* Add the row of a thing. failed: 0, or the thing is missing and err->text is the remedy. */
void check_say(struct check *check, enum need need, const char *thing, int failed,
	       const struct error *err);
/* Add the row of a thing; has: it is present. remedy: a printf format for its remedy. */
__attribute__((format(printf, 5, 6))) void check_has(struct check *check, enum need need,
						     const char *thing, bool has,
						     const char *remedy, ...);

#endif
