/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The check of OpenZFS' version: bugs that damage volumes or stop the host, and how to avoid them.
 *
 * Invariant: a bug is listed only if zcsi's own commands, programs that use volumes, or other tools
 * that work on volumes can meet it. The crash of concurrent sends in 2.1.11 is not listed: it takes
 * `zfs send -S` (openzfs/zfs#14903), and zcsi never sends what is being received.
 */
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "node/check/check.h"

static const char *const things[] = {
	[BUGS_OF_COPIES] = "copies of encrypted volumes",
	[BUGS_OF_SENDS] = "zfs send of encrypted data without -w",
	[BUGS_OF_FILES] = "files that are copied just after they were written",
};

#define RECEIVE_MAY_STOP "receiving one may stop the kernel of this host (openzfs/zfs#15039)"
#define NEWER_FOR_COPIES                                                                           \
	"; before this host has such copies, install OpenZFS 2.1.13 or later, on Debian 12 from "  \
	"bookworm-backports"
#define SENDS                                                                                      \
	"snapshots that are taken meanwhile may be damaged (openzfs/zfs#12014); zcsi sends so "    \
	"only what has the key of the parent dataset, so let other tools send volumes with -w, "   \
	"or install OpenZFS 2.2.8, 2.3.3 or later, unless this package has the fix"
#define FILES                                                                                      \
	"programs that leave out holes, such as cp, may find zeros in place of the data "          \
	"(openzfs/zfs#15526); install OpenZFS 2.1.14, 2.2.2 or later, unless this package has "    \
	"the fix of CVE-2023-49298"

/* The first row for a thing and a version counts. */
static const struct {
	enum bugs_of thing;
	unsigned since, fixed; /* by version_number: the first versions with and without the bug */
	const char *mended;    /* a part of the versions of packages that have the fix, or NULL */
	const char *text;
} bugs[] = {
	{BUGS_OF_COPIES, 0, 20111, NULL,
	 RECEIVE_MAY_STOP ", and a volume that comes back from its copy may not mount any more "
			  "(openzfs/zfs#12594)" NEWER_FOR_COPIES},
	{BUGS_OF_COPIES, 0, 20113, NULL, RECEIVE_MAY_STOP NEWER_FOR_COPIES},
	{BUGS_OF_SENDS, 20000, 20208, NULL, SENDS},
	{BUGS_OF_SENDS, 20300, 20303, NULL, SENDS},
	{BUGS_OF_FILES, 20104, 20114, "+deb12u", FILES},
	{BUGS_OF_FILES, 20200, 20202, NULL, FILES},
};

/* Returns 20113 for "2.1.13-1"; 0 if the text is no version. */
static unsigned version_number(const char *version)
{
	unsigned major, minor, patch;

	return sscanf(version, "%u.%u.%u", &major, &minor, &patch) == 3
		       ? major * 10000 + minor * 100 + patch
		       : 0;
}

const char *check_version_bugs(enum bugs_of thing, const char *version)
{
	unsigned number = version_number(version);

	for (size_t i = 0; number && i < COUNT(bugs); i++)
		if (bugs[i].thing == thing && number >= bugs[i].since && number < bugs[i].fixed &&
		    !(bugs[i].mended && strstr(version, bugs[i].mended)))
			return bugs[i].text;
	return NULL;
}

void check_bugs(struct check *check, const char *version)
{
	for (enum bugs_of thing = 0; thing < COUNT(things); thing++) {
		const char *text = check_version_bugs(thing, version);
		check_has(check, OPTIONAL, things[thing], !text, "%s", text ? text : "");
	}
}
