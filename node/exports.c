/* SPDX-License-Identifier: MPL-2.0 */
/*
 * From records to exports. See exports.h.
 *
 * Invariant: the records decide, and nothing is kept here but what follows from them. A path is
 * mounted before it is exported and until it is not. One change runs at a time, and a healing is
 * one change: whoever changes a record applies it afterwards, so the last to come has seen all.
 */
#include "node/exports.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "node/export_host.h"
#include "node/permissions.h"
#include "node/publication.h"
#include "node/share.h"
#include "node/ssh.h"
#include "node/staging.h"
#include "node/zfs_run.h"

#define RELEASE_MS 1000 /* how long the kernel may hold a path that is exported no more */
#define PAGE       1000

static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

int exports_check(const struct node *node, struct error *err)
{
	if (!zfs_is_the_kernels())
		return fail(err, ERR_FAILED_PRECONDITION,
			    "zfs-fuse cannot be exported by NFS; run the workload on node '%s', or "
			    "use a host with OpenZFS",
			    node->id);
	if (!export_host_serves())
		return fail(err, ERR_FAILED_PRECONDITION,
			    "no NFS server runs on node '%s'; install nfs-kernel-server there and "
			    "start it",
			    node->id);
	return 0;
}

/* A client is led through these as nobody. */
static void make_folders(struct arena *arena, const char *path)
{
	char *folder = arena_strdup(arena, path);

	for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(folder, 0711);
		*slash = '/';
	}
}

static int mount_share(struct arena *arena, const struct dataset *dataset, const char *path,
		       struct error *err)
{
	const struct staging staging = {
		.source = dataset->name, .path = path, .mount = staging_mount_dataset};
	struct permissions permissions;

	make_folders(arena, path);
	if (permissions_parse(dataset->root, "", &permissions, err) < 0 ||
	    staging_mount(arena, &staging, err) < 0)
		return -1;
	return permissions_apply(path, &permissions, err);
}

/*
 * The kernel lets go of it a moment later. A client that died holds what it had open until its
 * lease ends: that one is left for the next healing.
 */
static void unmount_share(struct arena *arena, const char *dataset, const char *path)
{
	struct error busy;

	for (long ms = 10; staging_unmount(arena, dataset, path, &busy) < 0; ms *= 2) {
		if (ms > RELEASE_MS)
			return;
		nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
	}
	rmdir(path);
}

static struct export_table rows_of(struct arena *arena, const struct dataset *dataset)
{
	struct publication_list published;

	publication_parse(arena, dataset->published, &published);
	struct export_table rows = {
		.rows = arena_alloc(arena, (published.n + 1) * sizeof(*rows.rows))};
	for (size_t i = 0; i < published.n; i++) {
		const struct publication *one = &published.rows[i];
		if (*one->address)
			rows.rows[rows.n++] = (struct export_row){
				.path = share_path(arena, dataset->name),
				.client = one->address,
				.readonly = !publication_writes(one),
			};
	}
	return rows;
}

/* With the lock. */
static int apply(struct arena *arena, const struct node *node, const struct dataset *dataset,
		 struct error *err)
{
	const struct export_table wanted = rows_of(arena, dataset);
	const char *path = share_path(arena, dataset->name);

	if ((wanted.n && mount_share(arena, dataset, path, err) < 0) ||
	    export_host_set(arena, catalog_parent(node->catalog), path, &wanted, err) < 0)
		return -1;
	if (!wanted.n)
		unmount_share(arena, dataset->name, path);
	return 0;
}

int exports_apply(struct arena *arena, const struct node *node, const struct dataset *dataset,
		  struct error *err)
{
	auto_unlock pthread_mutex_t *held = lock_take(&changing);

	if (ssh_server())
		return 0;
	/* Most volumes were never exported, and need no table of the host's. */
	if (!rows_of(arena, dataset).n && access(share_path(arena, dataset->name), F_OK) < 0)
		return 0;
	return apply(arena, node, dataset, err);
}

/* What fails now is tried again after the next reading of the pool. */
static void heal(const struct node *node, const struct dataset *dataset)
{
	struct arena arena;
	struct error err;

	arena_init(&arena, SIZE_MAX);
	if (apply(&arena, node, dataset, &err) < 0)
		log_warn("an export is not as recorded", log_str("dataset", dataset->name),
			 log_str("error", err.text));
	arena_fini(&arena);
}

/* Those of a page of volumes, whose rows are added to *all. */
static int heal_page(struct arena *arena, const struct node *node, char after[DATASET_ID_MAX + 1],
		     struct export_table *all, bool *ret_more)
{
	struct dataset_list page;
	struct arena own;
	struct error err;

	arena_init(&own, SIZE_MAX);
	int failed =
		catalog_page(node->catalog, now_ms(), &own, after, PAGE, &page, ret_more, &err);
	for (size_t i = 0; !failed && i < page.n; i++) {
		const struct dataset *dataset = page.rows[i];
		struct export_table rows = rows_of(arena, dataset);
		snprintf(after, DATASET_ID_MAX + 1, "%s", dataset->id);
		if (!rows.n)
			continue;
		heal(node, dataset);
		*all = export_table_join(arena, all, &rows);
	}
	arena_fini(&own);
	return failed;
}

/* What is at a path below our folder that no volume is to be exported by. */
static void heal_stray(struct arena *arena, const struct node *node, const struct export_table *all,
		       const char *path)
{
	const char *folder = share_path(arena, catalog_parent(node->catalog));
	size_t length = strlen(folder);

	if (strncmp(path, folder, length) != 0 || path[length] != '/' ||
	    export_table_of(arena, all, path, false).n)
		return;
	heal(node, &(struct dataset){.name = arena_strdup(arena, path + strlen(SHARE_FOLDER "/")),
				     .published = arena_strdup(arena, "")});
}

static void heal_strays(struct arena *arena, const struct node *node,
			const struct export_table *all)
{
	const struct export_table tables[] = {export_host_told(arena),
					      export_host_recorded(arena,
								   catalog_parent(node->catalog))};
	struct mount_table mounts;
	struct error err;

	for (size_t i = 0; i < COUNT(tables); i++)
		for (size_t k = 0; k < tables[i].n; k++)
			heal_stray(arena, node, all, tables[i].rows[k].path);
	if (mount_table_read(arena, &mounts, &err) < 0)
		return;
	for (size_t i = 0; i < mounts.n; i++)
		heal_stray(arena, node, all, mounts.rows[i].target);
}

void exports_heal(struct node *node)
{
	auto_unlock pthread_mutex_t *held = lock_take(&changing);
	struct export_table all = {.n = 0};
	char after[DATASET_ID_MAX + 1] = "";
	struct arena arena;
	bool more = !ssh_server();

	arena_init(&arena, SIZE_MAX);
	while (more && !heal_page(&arena, node, after, &all, &more))
		continue;
	if (!more && !ssh_server())
		heal_strays(&arena, node, &all);
	arena_fini(&arena);
}
