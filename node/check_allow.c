/* SPDX-License-Identifier: MPL-2.0 */
/*
 * What the user of --zfs-user may do with the parent dataset and below it.
 *
 * Invariant: one line for each permission, and the command that gives it. Whether zfs would be
 * refused is concluded from what it lists, for nothing is changed to find out.
 */
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>

#include "common/mem.h"
#include "node/agent.h"
#include "node/allowed.h"
#include "node/check.h"
#include "node/zfs_read.h"

#define THING_MAX  700
#define GROUPS_MAX 64

static const struct {
	const char *permission;
	enum need need;
	const char *use;
} rows[] = {
	{"create", NEEDED, "to make volumes"},
	{"destroy", NEEDED, "to delete them"},
	{"rename", NEEDED, "to put them into the trash"},
	{"mount", NEEDED, "which zfs asks for with each of those"},
	{"snapshot", NEEDED, "for snapshots"},
	{"clone", NEEDED, "to make a volume of another"},
	{"canmount", NEEDED, "for every volume"},
	{"mountpoint", NEEDED, "for every volume"},
	{"refquota", NEEDED, "for the size of a volume"},
	{"userprop", NEEDED, "for what zcsi records"},
	{"volsize", OPTIONAL, "for block volumes, ext4 and xfs"},
	{"keyformat", OPTIONAL, "for encryption"},
	{"keylocation", OPTIONAL, "for encryption"},
	{"load-key", OPTIONAL, "for encryption"},
};

struct delegation {
	struct check *check;
	struct grantee who;
	char *text; /* what zfs allow printed */
};

static void check_permission(const struct delegation *delegation, const char *permission,
			     enum need need, const char *use)
{
	const char *dataset = delegation->check->settings->dataset, *user = delegation->who.user;
	char thing[THING_MAX];

	snprintf(thing, sizeof(thing), "zfs allow '%s' to '%s'", permission, user);
	check_has(delegation->check, need, thing,
		  allowed(delegation->text, &delegation->who, permission),
		  "run 'zfs allow -u %s %s %s', %s", user, permission, dataset, use);
}

static void check_permissions(const struct delegation *delegation)
{
	const char *property;

	for (size_t i = 0; i < COUNT(rows); i++)
		check_permission(delegation, rows[i].permission, rows[i].need, rows[i].use);
	for (size_t i = 0; (property = property_native(i)); i++)
		check_permission(delegation, property, OPTIONAL, "for volumes that set it");
}

/* The names of the groups that setpriv gives it. */
static size_t groups_of(struct arena *arena, const char *user, const char **ret)
{
	const struct passwd *entry = getpwnam(user);
	gid_t numbers[GROUPS_MAX];
	int n = GROUPS_MAX;
	size_t used = 0;

	if (!entry)
		return 0;
	getgrouplist(user, entry->pw_gid, numbers, &n);
	for (int i = 0; i < n && i < GROUPS_MAX; i++) {
		const struct group *group = getgrgid(numbers[i]);
		if (group)
			ret[used++] = arena_strdup(arena, group->gr_name);
	}
	return used;
}

void check_allow(struct check *check)
{
	const char *dataset = check->settings->dataset, *user = check->settings->zfs_user;
	struct delegation delegation = {.check = check, .who.user = user};
	const char *groups[GROUPS_MAX];
	char thing[THING_MAX];
	struct arena arena;
	struct error err;

	arena_init(&arena, SIZE_MAX);
	delegation.who.groups = groups;
	delegation.who.n_groups = groups_of(&arena, user, groups);
	if (zfs_allow(dataset, &delegation.text, &err) == 0) {
		check_permissions(&delegation);
	} else {
		snprintf(thing, sizeof(thing), "zfs allow of '%s'", dataset);
		check_say(check, NEEDED, thing, -1, &err);
	}
	free(delegation.text);
	arena_fini(&arena);
}
