/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Checks of the permissions that the user of --zfs-user or --zfs-over-ssh has on the parent dataset
 * and below it.
 *
 * Invariant: each permission has one line, with the command that grants it. The checks change
 * nothing: they read the lists that `zfs allow` and `sudo -l` print.
 */
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "node/check/zfs_allow.h"
#include "node/check/check.h"
#include "node/record/property.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

#define THING_MAX  700
#define GROUPS_MAX 64

static const struct {
	const char *permission;
	enum need need;
	const char *use;
} rows[] = {
	{"create", NEEDED, "to create volumes"},
	{"destroy", NEEDED, "to delete them"},
	{"rename", NEEDED, "to put them into the trash"},
	{"mount", NEEDED, "which zfs requires for each of those"},
	{"snapshot", NEEDED, "for snapshots"},
	{"clone", NEEDED, "to create a volume from another"},
	{"canmount", NEEDED, "for every volume"},
	{"mountpoint", NEEDED, "for every volume"},
	{"refquota", NEEDED, "for the size of a volume"},
	{"userprop", NEEDED, "for the properties that zcsi sets"},
	{"volsize", OPTIONAL, "for block volumes, ext4 and xfs"},
	{"keyformat", OPTIONAL, "for encryption"},
	{"keylocation", OPTIONAL, "for encryption"},
	{"load-key", OPTIONAL, "for encryption"},
	{"send", OPTIONAL, "for zcsi send and detach, and for copies and backups on other nodes"},
	{"bookmark", OPTIONAL, "for copies and backups on other nodes"},
	{"receive", OPTIONAL,
	 "for zcsi detach, and for copies and backups of other nodes' volumes"},
	{"readonly", OPTIONAL, "for copies and backups of the volumes of other nodes"},
	{"promote", OPTIONAL, "for copies, after this host was declared lost, and for rollbacks"},
	{"volmode", OPTIONAL, "for copies of the volumes of other nodes, and for moves"},
};

struct delegation {
	struct check *check;
	struct grantee who;
	char *text; /* the output of zfs allow */
};

static void check_permission(const struct delegation *delegation, const char *permission,
			     enum need need, const char *use)
{
	const char *dataset = delegation->check->settings->dataset, *user = delegation->who.user;
	char thing[THING_MAX];

	snprintf(thing, sizeof(thing), "zfs allow '%s' to '%s'", permission, user);
	check_has(delegation->check, need, thing,
		  zfs_allows(delegation->text, &delegation->who, permission),
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

/*
 * *ret are the names of the groups that a process of the user has on the server; in the arena.
 * Returns their number, at most GROUPS_MAX, and 0 on failure.
 */
static size_t groups_on_server(struct arena *arena, const char **ret)
{
	const char *argv[] = {"id", "-nG", NULL};
	auto_free char *out = NULL;
	struct error ignored;
	size_t used = 0;

	if (zfs_run_once(&(struct exec){.argv = argv}, &out, &ignored) < 0)
		return 0;
	char *rest = arena_strdup(arena, out), *name;
	while (used < GROUPS_MAX && (name = strsep(&rest, " \n")) != NULL)
		ret[used++] = name;
	return used;
}

/*
 * *ret are the names of the groups that a process of the user has on this host; in the arena.
 * Returns their number, at most GROUPS_MAX, and 0 on failure.
 */
static size_t groups_on_host(struct arena *arena, const char *user, const char **ret)
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

/* Check that sudo permits the commands that need root on the server. sudo -l does not run them. */
static void check_sudo(const struct delegation *delegation, struct arena *arena)
{
	static const struct {
		const char *verb, *property;
	} roots[] = {{"mount", NULL}, {"unmount", NULL}, {"set", "sharenfs=off"}};
	const char *dataset = delegation->check->settings->dataset, *user = delegation->who.user;
	const char *volume = arena_printf(arena, "%s/volume", dataset);
	char thing[THING_MAX];
	struct error ignored;

	for (size_t i = 0; i < COUNT(roots); i++) {
		const char *property = roots[i].property;
		const char *argv[] = {"sudo",
				      "-n",
				      "-l",
				      "zfs",
				      roots[i].verb,
				      property ? property : volume,
				      property ? volume : NULL,
				      NULL};
		int failed = zfs_run_once(&(struct exec){.argv = argv}, NULL, &ignored);
		snprintf(thing, sizeof(thing), "sudo 'zfs %s' to '%s'", roots[i].verb, user);
		check_has(delegation->check, NEEDED, thing, !failed,
			  "install sudo on the server, and write into its /etc/sudoers.d/zcsi "
			  "'%s ALL=(root) NOPASSWD: /usr/sbin/zfs ^(mount|unmount|"
			  "set sharenfs=[^ ]+) %s/[^ /]+$'",
			  user, dataset);
	}
}

/* Returns the user that zfs runs as; NULL: root, which needs no permissions. */
static const char *user_of(struct arena *arena, const struct settings *settings)
{
	if (!settings->zfs_over_ssh)
		return settings->zfs_user;
	const char *user = arena_printf(arena, "%.*s", (int)strcspn(settings->zfs_over_ssh, "@"),
					settings->zfs_over_ssh);
	return strcmp(user, "root") ? user : NULL;
}

static void check_zfs_allow(struct delegation *delegation, struct arena *arena)
{
	const char *dataset = delegation->check->settings->dataset;
	char thing[THING_MAX];
	struct error err;

	if (zfs_allow(dataset, &delegation->text, &err) == 0) {
		check_permissions(delegation);
	} else {
		snprintf(thing, sizeof(thing), "zfs allow of '%s'", dataset);
		check_say(delegation->check, NEEDED, thing, -1, &err);
	}
	free(delegation->text);
	if (ssh_server())
		check_sudo(delegation, arena);
}

void check_allow(struct check *check)
{
	struct delegation delegation = {.check = check};
	const char *groups[GROUPS_MAX];
	auto_arena struct arena arena = {.cap = SIZE_MAX};

	delegation.who.user = user_of(&arena, check->settings);
	delegation.who.groups = groups;
	if (delegation.who.user) {
		delegation.who.n_groups =
			ssh_server() ? groups_on_server(&arena, groups)
				     : groups_on_host(&arena, delegation.who.user, groups);
		check_zfs_allow(&delegation, &arena);
	}
}
