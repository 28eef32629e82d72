/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Exporting on the server of --zfs-over-ssh, by ZFS's properties: mountpoint is set when a volume
 * is created, and sharenfs lists the nodes that it is published to.
 *
 * Invariant: a volume is mounted before sharenfs lists a node, and sharenfs is off before the
 * volume is unmounted. ZFS exports a mounted volume whenever sharenfs is set, so the export of a
 * mounted volume is what its sharenfs says.
 */
#include <stdlib.h>
#include <string.h>

#include "node/export/backend.h"
#include "node/export/exports_inside.h"
#include "node/record/share.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_run.h"

/* ZFS adds the options mountpoint and no_subtree_check of exports(5). */
#define OPTIONS "sync,no_root_squash"
#define OFF     "off"

struct share {
	const char *dataset;
	bool mounted;
	const char *sharenfs;
};

struct share_list {
	struct share *rows;
	size_t n;
};

static const char *mountpoint(struct arena *arena, const char *dataset)
{
	return share_path(arena, dataset);
}

static int check(const struct node *node, struct error *err)
{
	(void)node;
	if (zfs_is_the_kernels())
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "the server '%s' has zfs-fuse, which cannot be exported by NFS; use one with "
		    "OpenZFS",
		    ssh_server());
}

/*
 * Parse lines of name, property and value. Each dataset has a line for mounted, followed by one for
 * sharenfs.
 */
static void parse(struct arena *arena, const char *text, struct share_list *ret)
{
	char *rest = arena_strdup(arena, text), *line;
	size_t lines = 1;

	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	*ret = (struct share_list){.rows = arena_alloc(arena, lines * sizeof(*ret->rows))};
	while ((line = strsep(&rest, "\n")) != NULL) {
		const char *dataset = strsep(&line, "\t"), *property = strsep(&line, "\t");
		if (!line)
			continue;
		if (!strcmp(property, "mounted"))
			ret->rows[ret->n++] = (struct share){dataset, !strcmp(line, "yes"), OFF};
		else if (ret->n)
			ret->rows[ret->n - 1].sharenfs = line;
	}
}

/* List the share of the dataset, with depth "0", or also those right below it, with "1". */
static int list_shares(struct arena *arena, const char *dataset, const char *depth,
		       struct share_list *ret, struct error *err)
{
	const char *argv[] = {"zfs",
			      "get",
			      "-Hp",
			      "-d",
			      depth,
			      "-t",
			      "filesystem",
			      "-o",
			      "name,property,value",
			      "mounted,sharenfs",
			      dataset,
			      NULL};
	auto_free char *out = NULL;

	if (zfs_run_once(&(struct exec){.argv = argv, .max_output = ZFS_LIST_OUTPUT_MAX}, &out,
			 err) < 0)
		return -1;
	parse(arena, out, ret);
	return 0;
}

/* Append "ro=CLIENT:CLIENT," or "rw=...", as access says, to the text, if there are clients. */
static const char *add_clients(struct arena *arena, const char *text, const char *access,
			       const struct export_table *wanted)
{
	const char *before = "";

	for (size_t i = 0; i < wanted->n; i++) {
		const struct export_row *row = &wanted->rows[i];
		if (row->readonly != !strcmp(access, "ro"))
			continue;
		text = arena_printf(arena, *before ? "%s:" : "%s%s=", text, access);
		text = arena_printf(arena, strchr(row->client, ':') ? "%s[%s]" : "%s%s", text,
				    row->client);
		before = ":";
	}
	return *before ? arena_printf(arena, "%s,", text) : text;
}

/* Returns a value like "rw=10.0.0.2:10.0.0.3,ro=10.0.0.4,sync,no_root_squash"; or "off". */
static const char *sharenfs_of(struct arena *arena, const struct export_table *wanted)
{
	if (!wanted->n)
		return OFF;
	const char *writers = add_clients(arena, "", "rw", wanted);
	return arena_printf(arena, "%s" OPTIONS, add_clients(arena, writers, "ro", wanted));
}

static int set(struct arena *arena, struct share *share, const char *sharenfs, struct error *err)
{
	if (!strcmp(share->sharenfs, sharenfs))
		return 0;
	const char *argv[] = {"zfs", "set", arena_printf(arena, "sharenfs=%s", sharenfs),
			      share->dataset, NULL};
	share->sharenfs = sharenfs;
	return zfs_run(argv, err);
}

/* Mount the share and export it to the clients in `wanted`. */
static int share_with(struct arena *arena, struct share *share, const struct export_table *wanted,
		      struct error *err)
{
	const char *argv[] = {"zfs", "mount", share->dataset, NULL};
	struct error ignored;

	if (!share->mounted && (set(arena, share, OFF, err) < 0 || zfs_run(argv, err) < 0))
		return -1;
	if (set(arena, share, sharenfs_of(arena, wanted), err) == 0)
		return 0;
	/*
	 * ZFS sets sharenfs even if exporting then fails. (OpenZFS 2.3 does not report that
	 * failure; then mounting the share fails on the node that uses it.)
	 */
	set(arena, share, OFF, &ignored);
	return -1;
}

/*
 * Withdraw the export of a share and unmount it. A busy share is left to a later healing: a dead
 * client may have a file open, or the kernel has not dropped the export yet. An immediate retry
 * would delay that: each `zfs unmount` of OpenZFS 2.3 makes the kernel flush its export cache, and
 * two flushes within a second delay the flush by another second.
 */
static int withdraw(struct arena *arena, struct share *share, struct error *err)
{
	const char *argv[] = {"zfs", "unmount", share->dataset, NULL};
	struct error busy;

	if (set(arena, share, OFF, err) < 0)
		return -1;
	if (!share->mounted || zfs_run_once(&(struct exec){.argv = argv}, NULL, &busy) == 0 ||
	    strstr(busy.text, "is busy"))
		return 0;
	*err = busy;
	return -1;
}

static int set_export(struct arena *arena, struct share *share, const struct export_table *wanted,
		      struct error *err)
{
	return wanted->n ? share_with(arena, share, wanted, err) : withdraw(arena, share, err);
}

static int apply(struct arena *arena, const struct node *node, const struct dataset *dataset,
		 const struct export_table *wanted, struct error *err)
{
	struct share_list found;

	(void)node;
	/* With zfs-fuse nothing is exported, because check() refuses it. */
	if (!zfs_is_the_kernels())
		return 0;
	if (list_shares(arena, dataset->name, "0", &found, err) < 0)
		return -1;
	return found.n ? set_export(arena, &found.rows[0], wanted, err) : 0;
}

struct healing {
	struct arena *arena;
	struct share_list shares;
};

static int compare(const void *key, const void *row)
{
	return strcmp(key, ((const struct share *)row)->dataset);
}

static int in_order(const void *one, const void *other)
{
	return compare(((const struct share *)one)->dataset, other);
}

static void heal_volume(void *arg, const struct dataset *dataset, const struct export_table *rows)
{
	struct healing *healing = arg;
	struct error err;

	struct share *share = bsearch(dataset->name, healing->shares.rows, healing->shares.n,
				      sizeof(*share), compare);
	if (share && set_export(healing->arena, share, rows, &err) < 0)
		exports_warn(dataset->name, &err);
}

static void heal(struct arena *arena, const struct node *node)
{
	struct healing healing = {.arena = arena};
	const char *parent = catalog_parent(node->catalog);
	struct error err;

	if (!zfs_is_the_kernels())
		return;
	if (list_shares(arena, parent, "1", &healing.shares, &err) < 0) {
		exports_warn(parent, &err);
		return;
	}
	qsort(healing.shares.rows, healing.shares.n, sizeof(*healing.shares.rows), in_order);
	exports_each(arena, node, heal_volume, &healing);
}

const struct export_backend export_over_ssh = {mountpoint, check, apply, heal};
