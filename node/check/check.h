/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CHECK_CHECK_H
#define ZCSI_NODE_CHECK_CHECK_H

/*
 * zcsi-node --check: has this host what its volumes need? A line for each thing, "ok THING",
 * "optional THING: WHAT TO DO" where only some volumes need it, or "MISSING THING: WHAT TO DO".
 * Nothing is changed, and whatever state the host is in, there is an answer. Blocks.
 */

#include <stdbool.h>
#include <stdio.h>

#include "common/error.h"
#include "node/host/settings.h"

enum need { NEEDED, OPTIONAL };

struct check {
	const struct settings *settings;
	FILE *out;
	bool missing; /* something that is needed */
};

/* All of it; true: nothing that is needed is missing. */
bool check_host(const struct settings *settings, FILE *out);

/* Check ZFS, the pool and the parent dataset; then what only some kinds of volumes need. */
void check_zfs(struct check *check);
void check_optional(struct check *check);
/* Check the permissions of the user of --zfs-user, or of --zfs-over-ssh, with the kernel's ZFS. */
void check_allow(struct check *check);
/* The line of one thing: it is there, or failed is not 0 and err says what to do about it. */
void check_say(struct check *check, enum need need, const char *thing, int failed,
	       const struct error *err);
/* The same where nothing failed but the thing is there or is not. */
__attribute__((format(printf, 5, 6))) void check_has(struct check *check, enum need need,
						     const char *thing, bool has,
						     const char *remedy, ...);

#endif
