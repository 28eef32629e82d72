/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Detaching one volume: the copy, and the exchange of the two datasets.
 *
 * Invariant: the volume is exchanged only while nothing uses it, and if the copy has all its
 * snapshots and nothing was written since the newest one. Calls for the volume are refused from the
 * beginning (node/host/moves.h), so only other programs can change it meanwhile.
 */
#include "node/change/detach_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "node/agent/agent.h"
#include "node/attach/complete.h"
#include "node/attach/device.h"
#include "node/change/detach.h"
#include "node/change/properties.h"
#include "node/change/swap.h"
#include "node/zfs/zfs_run.h"

#define ROUNDS_MAX 8 /* attempts; a snapshot that is taken during one makes another necessary */

static const struct node *node_of(const struct detach *detach)
{
	return detach->call->app;
}

static struct catalog *catalog_of(const struct detach *detach)
{
	return node_of(detach)->catalog;
}

/* Set `copy` and `former`, which follow from the volume. */
static void set_names(struct detach *detach)
{
	struct arena *arena = &detach->call->arena;
	const char *parent = catalog_parent(catalog_of(detach)), *name = detach->volume->name;

	detach->copy =
		arena_printf(arena, "%s/" DETACH_FOLDER "/%s", parent, strrchr(name, '/') + 1);
	detach->former = swap_of(arena, parent, name, detach->volume->guid).former;
}

/* The marks of the volume and of the copy */

static int make_folder(struct detach *detach, const char *name, struct error *err)
{
	const char *parent = catalog_parent(catalog_of(detach));
	const char *folder = arena_printf(&detach->call->arena, "%s/%s", parent, name);

	return zfs_create_folder(folder, err) < 0 && err->code != ERR_ALREADY_EXISTS ? -1 : 0;
}

static int mark(struct detach *detach, const char *name, struct error *err)
{
	struct zfs_properties properties = {.n = 0};

	zfs_property(&properties, DETACH_PROPERTY,
		     arena_printf(&detach->call->arena, "%" PRIu64, detach->volume->guid));
	return zfs_set(name, &properties, err);
}

static int begin(struct detach *detach, struct error *err)
{
	if (detach->volume->renaming &&
	    agent_end_rename(&detach->call->arena, detach->volume, err) < 0)
		return -1;
	detach->volume->renaming = false;
	if (make_folder(detach, DETACH_FOLDER, err) < 0 ||
	    make_folder(detach, DATASET_TRASH, err) < 0)
		return -1;
	return mark(detach, detach->volume->name, err);
}

static int take_snapshot(const struct detach *detach, struct error *err)
{
	const struct zfs_properties none = {.n = 0};
	const char *name = arena_printf(&detach->call->arena, "%s@" DETACH_SNAPSHOT "%" PRId64,
					detach->volume->name, wall_us());

	if (complete_volume(&detach->call->arena, detach->volume, err) < 0)
		return -1;
	return zfs_snapshot(&name, 1, &none, err);
}

/* The exchange of the two datasets */

/*
 * Set the present properties of the volume, and DETACH_PROPERTY, on the copy. A zvol gets its
 * device by that.
 */
static int give_properties(struct detach *detach, struct error *err)
{
	struct zfs_properties all = {.n = 0}, given = {.n = 0};
	bool has_volmode = false;

	if (properties_read(&detach->call->arena, detach->volume->name, NULL, &all, err) < 0)
		return -1;
	for (size_t i = 0; i < all.n && i < ZFS_PROPERTIES_MAX; i++) {
		has_volmode |= strcmp(all.rows[i].name, "volmode") == 0;
		/* The size of a zvol is part of its data. */
		if (strcmp(all.rows[i].name, "volsize") != 0)
			zfs_property(&given, all.rows[i].name, all.rows[i].value);
	}
	if (zfs_set(detach->copy, &given, err) < 0)
		return -1;
	if (detach->volume->format->zvol && !has_volmode &&
	    zfs_inherit(detach->copy, "volmode", err) < 0)
		return -1;
	return mark(detach, detach->copy, err);
}

static int check_unwritten(const struct detach *detach, struct error *err)
{
	const char *argv[] = {"zfs", "get", "-Hp", "-o", "value", "written", detach->volume->name,
			      NULL};
	auto_free char *out = NULL;

	if (zfs_run_once(&(struct exec){.argv = argv}, &out, err) < 0)
		return -1;
	if (strtoull(out, NULL, 10) == 0)
		return 0;
	return fail(err, ERR_ABORTED, "something was written to it while it was copied; try again");
}

/*
 * Check that the copy has all snapshots, after check_unwritten: ZFS does not count as written what
 * is in a snapshot that was taken meanwhile.
 */
static int check_copied(const struct detach *detach, struct error *err)
{
	bool complete;

	if (detach_copy_has_all(detach, &complete, err) < 0)
		return -1;
	if (complete)
		return 0;
	return fail(err, ERR_ABORTED, "a snapshot was taken of it while it was copied; try again");
}

/* Report both datasets to the catalog. The next scan adds the unknown values of the new one. */
static void report(const struct detach *detach, const struct snapshot_list *snapshots)
{
	struct catalog *catalog = catalog_of(detach);
	struct dataset made = *detach->volume;

	catalog_move(catalog, detach->volume, detach->former, snapshots);
	made.guid = 0;
	made.creation = time(NULL);
	made.deleted = made.keep = 0;
	catalog_put(catalog, &made);
	for (size_t i = 0; i < snapshots->n; i++)
		catalog_put_snapshot(catalog, snapshots->rows[i]);
}

static int swap(struct detach *detach, struct error *err)
{
	const struct swap swap = {detach->volume->name, detach->copy, detach->former};
	struct snapshot_list snapshots;

	catalog_snapshots_of(catalog_of(detach), &detach->call->arena, detach->volume, &snapshots);
	int failed = swap_exchange(detach->call, &swap, detach->volume, &detach->missing, err);
	detach->exchanged = !failed || detach->missing;
	if (!failed)
		report(detach, &snapshots);
	return failed;
}

/*
 * Read the volume again, and exchange its dataset for the copy. *ret_more is true if the copy lacks
 * a snapshot, and nothing was exchanged.
 */
static int exchange(struct detach *detach, bool *ret_more, struct error *err)
{
	struct arena *arena = &detach->call->arena;
	size_t children;
	int64_t ignored;
	bool complete;

	struct dataset *now = agent_prove(arena, catalog_parent(catalog_of(detach)), detach->volume,
					  &children, err);
	if (!now)
		return -1;
	detach->volume = now;
	if (detach_copy_has_all(detach, &complete, err) < 0)
		return -1;
	*ret_more = !complete;
	if (*ret_more)
		return 0;
	if (give_properties(detach, err) < 0 ||
	    detach_check_unused(detach->call, detach->volume, children, err) < 0 ||
	    detach_check_history(detach->call, detach->volume, &ignored, err) < 0 ||
	    check_unwritten(detach, err) < 0 || check_copied(detach, err) < 0)
		return -1;
	return swap(detach, err);
}

/* The volume */

static int finish(struct detach *detach, const char *mark, struct error *err)
{
	if (detach_end_finish(node_of(detach), &detach->call->arena, detach->volume->name, mark,
			      err) == 0)
		return 0;
	return fail_context(err, "it depends on no other volume any more, but the dataset that it "
				 "was is still there; run the command again");
}

/*
 * Lock the volume, and exchange and finish it. It is not locked before, because its snapshots may
 * be destroyed while it is copied.
 */
static int end(struct detach *detach, bool *ret_more, struct error *err)
{
	struct arena *arena = &detach->call->arena;
	const char *name = detach->volume->name;
	const char *guid = arena_printf(arena, "%" PRIu64, detach->volume->guid);

	detach->call->deadline = now_ms() + CATALOG_WAIT_MS;
	if (detach_end_lock(node_of(detach), arena, detach->call->deadline, name, detach->former,
			    err) < 0)
		return -1;
	int failed = exchange(detach, ret_more, err);
	if (!failed && !*ret_more)
		failed = finish(detach, guid, err);
	detach_end_unlock(node_of(detach), arena, name, detach->former);
	return failed;
}

static int carry_out(struct detach *detach, struct error *err)
{
	bool more = true;

	if (begin(detach, err) < 0)
		return -1;
	for (unsigned i = 0; more && i < ROUNDS_MAX; i++)
		if (take_snapshot(detach, err) < 0 || detach_copy(detach, err) < 0 ||
		    end(detach, &more, err) < 0)
			return -1;
	if (!more)
		return 0;
	return fail(err, ERR_ABORTED,
		    "snapshots are taken of it faster than they are copied; try again");
}

/* Remove the copy and the marks of a detach that failed, or of an earlier one. */
static int discard(const struct detach *detach, struct error *err)
{
	return detach_end_discard(&detach->call->arena, catalog_parent(catalog_of(detach)),
				  detach->volume->name, err);
}

static int detach_clone(struct detach *detach, size_t children, struct error *err)
{
	struct detach_room ignored;
	struct error other;

	if (detach_check(detach->call, detach->volume, children, &ignored, err) < 0)
		return -1;
	int failed = carry_out(detach, err);
	if (failed && !detach->exchanged && discard(detach, &other) < 0)
		log_warn("cannot destroy the copy of a failed detach, retrying at the next start",
			 log_str("dataset", detach->copy), log_str("error", other.text));
	return failed;
}

/*
 * End an earlier detach of the volume: finish it if the datasets were exchanged, else remove the
 * copy and the marks.
 */
static int resume(struct detach *detach, const char *mark, struct error *err)
{
	struct arena *arena = &detach->call->arena;
	const uint64_t guid = strtoull(mark, NULL, 10);
	const char *name = detach->volume->name;

	if (!*mark)
		return 0;
	if (guid == detach->volume->guid)
		return discard(detach, err);
	const char *former = swap_of(arena, catalog_parent(catalog_of(detach)), name, guid).former;
	if (detach_end_lock(node_of(detach), arena, detach->call->deadline, name, former, err) < 0)
		return -1;
	int failed = finish(detach, mark, err);
	detach_end_unlock(node_of(detach), arena, name, former);
	return failed;
}

int detach_run(struct detach *detach, const char *id, struct error *err)
{
	struct rpc_call *call = detach->call;
	struct dataset *known;
	char *origin, *marked;
	size_t children;

	if (catalog_get(catalog_of(detach), call->deadline, &call->arena, id, &known, err) < 0)
		return -1;
	detach->volume = agent_prove(&call->arena, catalog_parent(catalog_of(detach)), known,
				     &children, err);
	if (!detach->volume)
		return -1;
	set_names(detach);
	if (detach_read(&call->arena, detach->volume->name, &origin, &marked, err) < 0 ||
	    resume(detach, marked, err) < 0)
		return -1;
	return *origin ? detach_clone(detach, children, err) : 0;
}
