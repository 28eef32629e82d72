/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CHECK_CHECK_H
#define ZCSI_NODE_CHECK_CHECK_H

/*
 * zcsi-node --check: a report of what this host lacks for its volumes. Each thing has one line:
 * "ok THING", "optional THING: REMEDY" if only some volumes need it, or "MISSING THING: REMEDY".
 * The host is not changed, and the report is complete in whatever state the host is. Functions
 * block. One thread.
 */

#include <stdbool.h>
#include <stdio.h>

#include "common/error.h"
#include "node/host/settings.h"

enum need { NEEDED, OPTIONAL };

struct check {
	const struct settings *settings;
	FILE *out;
	bool missing; /* a thing that is NEEDED is missing */
};

/*
 * Check everything and print the report to out. Returns true if nothing that is needed is missing.
 */
bool check_host(const struct settings *settings, FILE *out);

/* Check ZFS, the pool and the parent dataset. */
void check_zfs(struct check *check);
/* Print a line for each thing that bugs of this version of the kernel's ZFS may damage. */
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
/* Print the line of a thing. failed: 0, or the thing is missing and err->text is the remedy. */
void check_say(struct check *check, enum need need, const char *thing, int failed,
	       const struct error *err);
/* Print the line of a thing; has: it is present. remedy: a printf format for its remedy. */
__attribute__((format(printf, 5, 6))) void check_has(struct check *check, enum need need,
						     const char *thing, bool has,
						     const char *remedy, ...);

#endif
