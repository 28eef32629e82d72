/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The copy of a volume's data: `zfs send` of its snapshots into a `zfs receive` on the same host.
 *
 * Invariant: the first stream is a whole one, so the copy has no origin. zfs receives only into
 * DETACH_FOLDER, where no dataset is a volume, with -u, so that nothing is mounted, and never with
 * -F. Snapshots are compared by guid, which a stream keeps.
 */
#include <string.h>

#include "node/change/detach.h"
#include "node/change/detach_run.h"
#include "node/change/properties.h"
#include "node/copy/history.h"
#include "node/stream/pair.h"
#include "node/zfs/send_flags.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_table.h"

/*
 * Returns true for the properties that the copy gets when it has all data: limits, those of zcsi,
 * and those by which a zvol has a device, which no program is to open before.
 */
static bool is_for_the_end(const char *property)
{
	static const char *const names[] = {
		"quota",          "refquota",       "reservation",
		"refreservation", "snapshot_limit", "filesystem_limit",
		"volsize",        "volmode",        "readonly",
	};

	for (size_t i = 0; i < COUNT(names); i++)
		if (strcmp(property, names[i]) == 0)
			return true;
	return strncmp(property, "zcsi:", strlen("zcsi:")) == 0;
}

/* *ret is the properties that decide how the data of the copy is written. */
static int first_properties(const struct detach *detach, struct zfs_properties *ret,
			    struct error *err)
{
	struct zfs_properties all = {.n = 0};

	if (properties_read(&detach->call->arena, detach->volume->name, NULL, &all, err) < 0)
		return -1;
	if (all.n >= ZFS_PROPERTIES_MAX)
		return fail(err, ERR_INVALID_ARGUMENT, "it has more than %d properties",
			    ZFS_PROPERTIES_MAX - 1);
	for (size_t i = 0; i < all.n; i++)
		if (!is_for_the_end(all.rows[i].name))
			zfs_property(ret, all.rows[i].name, all.rows[i].value);
	if (detach->volume->format->zvol)
		zfs_property(ret, "volmode", "none");
	return 0;
}

/*
 * Send the snapshots after `base`, which the copy has, up to `snapshot` to the copy; base NULL:
 * send `snapshot` alone, with all its data.
 */
static int send(const struct detach *detach, const char *base, const char *snapshot,
		struct error *err)
{
	struct arena *arena = &detach->call->arena;
	const char *flags = send_flags_for(false);
	const char *whole[] = {"zfs", "send", flags, snapshot, NULL};
	const char *rest[] = {"zfs", "send", flags, "-I", base, snapshot, NULL};
	const char *receive[2 * ZFS_PROPERTIES_MAX + 5] = {"zfs", "receive", "-u"};
	const struct pair pair = {base ? rest : whole, receive, detach->rounds};
	struct zfs_properties properties = {.n = 0};
	size_t n = 3;

	if (!base && first_properties(detach, &properties, err) < 0)
		return -1;
	n += zfs_property_options(arena, &properties, receive + n);
	receive[n] = detach->copy;
	return pair_run(&pair, err);
}

/* Returns the first snapshot, or the last one, or NULL. */
static const struct point *end_of(const struct history *history, bool last)
{
	for (size_t i = 0; i < history->n; i++) {
		const struct point *at = &history->points[last ? history->n - 1 - i : i];
		if (!at->bookmark)
			return at;
	}
	return NULL;
}

/* Send the snapshots of the volume (from) that the copy (to) lacks. */
static int send_rest(const struct detach *detach, const struct history *from,
		     const struct history *to, struct error *err)
{
	const struct point *first = end_of(from, false), *last = end_of(from, true);
	const struct point *newest = end_of(to, true);
	const struct point *base = newest ? history_snapshot(from, newest->guid) : NULL;

	if (!first || (newest && !base))
		return fail(err, ERR_ABORTED, "its snapshots were destroyed meanwhile; try again");
	if (!newest) {
		if (send(detach, NULL, first->name, err) < 0)
			return -1;
		base = first;
	}
	return base == last ? 0 : send(detach, base->name, last->name, err);
}

/* The properties of snapshots */

/* Set the properties of a snapshot of the volume on that of the copy. */
static int record(const struct detach *detach, const char *name,
		  const struct zfs_properties *properties, struct error *err)
{
	const char *leaf = strchr(name, '@');

	if (!leaf || !properties->n)
		return 0;
	int failed = zfs_set(arena_printf(&detach->call->arena, "%s%s", detach->copy, leaf),
			     properties, err);
	return failed && err->code != ERR_NOT_FOUND ? -1 : 0;
}

/* Append the user properties that are set on a snapshot itself. */
static void take_properties(const struct zfs_fields *row, struct zfs_properties *to)
{
	for (size_t i = 1; i < row->n; i++) {
		const struct zfs_value *value = &row->values[i];
		if (strchr(value->property, ':') &&
		    (strcmp(value->source, "local") == 0 || strcmp(value->source, "received") == 0))
			zfs_property(to, value->property, value->text);
	}
}

/*
 * Copy the properties by which CSI finds a snapshot, because a stream carries none. Only user
 * properties can be set on a snapshot, but zfs(8) prints the size of a zvol's snapshot like one
 * that was set.
 */
static int copy_records(const struct detach *detach, struct error *err)
{
	static const char *const words[] = {"-d", "1", "-t", "snapshot", NULL};
	struct arena *arena = &detach->call->arena;
	const char *const names[] = {detach->volume->name, NULL};
	struct zfs_query query = {.words = words, .names = names};
	struct zfs_table table;
	char *properties;

	if (zfs_table_names(arena, words, detach->volume->name, &properties, err) < 0)
		return -1;
	query.properties = properties;
	if (!strchr(properties, ':'))
		return 0;
	if (zfs_table_read(arena, &query, &table, err) < 0 || zfs_table_check(&table, err) < 0)
		return -1;
	for (size_t i = 0; i < table.n; i++) {
		struct zfs_properties set = {.n = 0};
		take_properties(&table.rows[i], &set);
		if (record(detach, table.rows[i].name, &set, err) < 0)
			return -1;
	}
	return 0;
}

int detach_copy(struct detach *detach, struct error *err)
{
	struct arena *arena = &detach->call->arena;
	struct history from, to = {.n = 0};

	if (history_read(arena, detach->volume->name, &from, err) < 0 ||
	    (detach->copied && history_read(arena, detach->copy, &to, err) < 0) ||
	    send_rest(detach, &from, &to, err) < 0)
		return -1;
	detach->copied = true;
	return copy_records(detach, err);
}

int detach_copy_has_all(const struct detach *detach, bool *ret, struct error *err)
{
	struct arena *arena = &detach->call->arena;
	struct history from, to;

	if (history_read(arena, detach->volume->name, &from, err) < 0 ||
	    history_read(arena, detach->copy, &to, err) < 0)
		return -1;
	*ret = true;
	for (size_t i = 0; i < from.n; i++)
		*ret &= from.points[i].bookmark || history_snapshot(&to, from.points[i].guid);
	return 0;
}
