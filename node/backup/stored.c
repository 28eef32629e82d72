/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Reading and destroying the backups of this host.
 *
 * Invariant: a dataset counts as a backup only if it has the name of the backup of its volume. A
 * backup is never destroyed recursively or by force, so ZFS refuses to destroy one that is in use.
 */
#include "node/backup/stored.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/volume/escape.h"
#include "common/volume/format.h"
#include "node/mount/kind.h"
#include "node/record/dataset.h"
#include "node/record/members.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"
#include "node/zfs/zfs_table.h"

static const char columns[] =
	"guid,creation,used,volsize,receive_resume_token,zcsi:volume,zcsi:backup,zcsi:size,"
	"zcsi:parameters,zcsi:format,zcsi:root,zcsi:keep,zcsi:backup_every,zcsi:backup_keep,"
	"zcsi:verified,userrefs,clones";

char *stored_name(struct arena *arena, const char *parent, const char *id)
{
	return dataset_name(arena, arena_printf(arena, "%s/" BACKUP_FOLDER, parent), id);
}

char *stored_key(struct arena *arena, const char *name)
{
	return arena_printf(arena, "backup %s", name);
}

/* Taking the rows of backups */

static char *unescaped(struct arena *arena, char *value)
{
	char *text = unescape_text(arena, value);

	return text ? text : value;
}

static int64_t number(const struct zfs_fields *row, const char *property)
{
	return strtoll(zfs_fields_text(row, property), NULL, 10);
}

static void add_property(struct arena *arena, const struct zfs_fields *row, const char *name,
			 BackupState *to)
{
	Property *property = new_property(arena);
	char *value = zfs_fields_text(row, name);

	if (!*value)
		return;
	property->name = (char *)name;
	property->value = value;
	to->properties[to->n_properties++] = property;
}

/* Fill in the nodes that had the data from the text of zcsi:backup, which is cut into its parts. */
static void take_nodes(struct arena *arena, char *text, BackupState *to)
{
	size_t most = 1;
	char *node;

	for (const char *at = text; *at; at++)
		most += *at == ',';
	to->other_node_ids = arena_alloc(arena, most * sizeof(*to->other_node_ids));
	to->from_node_id = unescaped(arena, strsep(&text, ","));
	while ((node = strsep(&text, ",")) != NULL)
		to->other_node_ids[to->n_other_node_ids++] = unescaped(arena, node);
}

/* Returns the backup that a row describes, without snapshots. */
static BackupState *backup_of(struct arena *arena, const struct zfs_fields *row)
{
	BackupState *backup = new_backup_state(arena);
	int64_t volsize = number(row, "volsize");
	char *format = zfs_fields_text(row, "zcsi:format");

	backup->volume = new_dataset(arena);
	backup->properties = arena_alloc(arena, 2 * sizeof(*backup->properties));
	backup->id = backup->volume->id = unescaped(arena, zfs_fields_text(row, "zcsi:volume"));
	backup->name = (char *)row->name;
	take_nodes(arena, arena_strdup(arena, zfs_fields_text(row, "zcsi:backup")), backup);
	backup->every = number(row, "zcsi:backup_every");
	backup->keep = zfs_fields_text(row, "zcsi:backup_keep");
	backup->verified = number(row, "zcsi:verified");
	backup->used = number(row, "used");
	backup->token = zfs_fields_text(row, "receive_resume_token");
	backup->volume->size = volsize ? volsize : number(row, "zcsi:size");
	backup->volume->parameters = unescaped(arena, zfs_fields_text(row, "zcsi:parameters"));
	backup->volume->format = *format ? format : (char *)FORMAT_ZFS;
	add_property(arena, row, "zcsi:root", backup);
	add_property(arena, row, "zcsi:keep", backup);
	return backup;
}

static CopySnapshot *snapshot_of(struct arena *arena, const struct zfs_fields *row)
{
	CopySnapshot *snapshot = new_copy_snapshot(arena);

	snapshot->name = strchr(row->name, '@') + 1;
	snapshot->guid = strtoull(zfs_fields_text(row, "guid"), NULL, 10);
	snapshot->creation = number(row, "creation");
	snapshot->kept = number(row, "userrefs") || *zfs_fields_text(row, "clones");
	return snapshot;
}

/*
 * Add the backup of a dataset and its n - 1 snapshots to the list, unless its name is wrong or a
 * row is damaged.
 */
static void add(struct arena *arena, const char *parent, const struct zfs_fields *rows, size_t n,
		size_t most, struct stored_list *list)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].damaged)
			return;
	BackupState *backup = backup_of(arena, rows);
	if (strchr(rows->name, '@') || !*backup->id ||
	    strcmp(backup->name, stored_name(arena, parent, backup->id)) != 0)
		return;
	backup->count = (int64_t)n - 1;
	backup->n_snapshots = n - 1 < most ? n - 1 : most;
	backup->snapshots =
		arena_alloc(arena, (backup->n_snapshots + 1) * sizeof(*backup->snapshots));
	for (size_t i = 0; i < backup->n_snapshots; i++)
		backup->snapshots[i] = snapshot_of(arena, &rows[n - 1 - i]);
	list->rows[list->n++] = backup;
}

static int by_id(const void *a, const void *b)
{
	return strcmp((*(BackupState *const *)a)->id, (*(BackupState *const *)b)->id);
}

void stored_parse(struct arena *arena, const char *parent, const struct zfs_table *table,
		  size_t most, struct stored_list *ret)
{
	size_t end;

	*ret = (struct stored_list){
		.rows = arena_alloc(arena, (table->n + 1) * sizeof(*ret->rows))};
	for (size_t i = 0; i < table->n; i = end) {
		end = zfs_table_end(table, i);
		add(arena, parent, &table->rows[i], end - i, most, ret);
	}
	qsort(ret->rows, ret->n, sizeof(BackupState *), by_id);
}

/* Reading backups */

static int read_below(struct arena *arena, const char *parent, const char *name, const char *depth,
		      struct zfs_table *ret, struct error *err)
{
	const struct zfs_query query = {.words = (const char *const[]){"-d", depth, "-t",
								       "filesystem,volume,snapshot",
								       NULL},
					.properties = columns,
					.names = (const char *const[]){name, NULL}};

	if (zfs_table_read(arena, &query, ret, err) == 0)
		return 0;
	ret->n = 0;
	return zfs_is_missing(parent, err);
}

int stored_read_all(struct arena *arena, const char *parent, struct stored_list *ret,
		    struct error *err)
{
	const char *folder = arena_printf(arena, "%s/" BACKUP_FOLDER, parent);
	struct zfs_table table;

	*ret = (struct stored_list){.n = 0};
	if (read_below(arena, parent, folder, "2", &table, err) < 0)
		return -1;
	zfs_table_warn(&table, "a backup with a damaged property is left out of the list");
	stored_parse(arena, parent, &table, 1, ret);
	return 0;
}

int stored_read(struct arena *arena, const char *parent, const char *id, BackupState **ret,
		struct error *err)
{
	const char *name = stored_name(arena, parent, id);
	struct stored_list list;
	struct zfs_table table;

	*ret = NULL;
	if (read_below(arena, parent, name, "1", &table, err) < 0 ||
	    zfs_table_check(&table, err) < 0)
		return -1;
	stored_parse(arena, parent, &table, BACKUP_SNAPSHOTS, &list);
	if (list.n)
		*ret = list.rows[0];
	return 0;
}

/* Properties of a backup */

static void put(struct zfs_properties *to, const char *name, const char *value)
{
	if (*value)
		zfs_property(to, name, value);
}

/* Returns the text of zcsi:backup. */
static char *nodes_of(struct arena *arena, const ReceiveHeader *header, const char *from)
{
	char *text = escape_text(arena, from);
	struct members members;

	if (!members_parse(arena, header->members, &members))
		return text;
	for (size_t i = 0; i < members.n; i++)
		if (strcmp(members.nodes[i], from) != 0)
			text = arena_printf(arena, "%s,%s", text,
					    escape_text(arena, members.nodes[i]));
	return text;
}

static void put_rules(struct arena *arena, const struct stored_rules *rules,
		      struct zfs_properties *to)
{
	if (rules->every)
		zfs_property(to, "zcsi:backup_every",
			     arena_printf(arena, "%" PRId64, rules->every));
	put(to, "zcsi:backup_keep", rules->keep);
}

void stored_properties(struct arena *arena, const ReceiveHeader *header,
		       const struct stored_rules *rules, struct zfs_properties *to)
{
	const Dataset *volume = header->volume;
	const struct format *format = format_find(volume->format);

	/* Properties that are given to `zfs receive` prevail over those that a stream may carry. */
	zfs_property(to, "readonly", "on");
	zfs_property(to, "zcsi:volume", escape_text(arena, volume->id));
	zfs_property(to, "zcsi:backup", nodes_of(arena, header, rules->from));
	put_rules(arena, rules, to);
	put(to, "zcsi:parameters", escape_text(arena, volume->parameters));
	for (size_t i = 0; i < header->n_properties; i++)
		zfs_property(to, header->properties[i]->name, header->properties[i]->value);
	if (format && format->zvol) {
		zfs_property(to, "volmode", "none");
		zfs_property(to, "zcsi:format", volume->format);
		return;
	}
	zfs_property(to, "mountpoint", "none");
	zfs_property(to, "canmount", "off");
	zfs_property(to, "zcsi:size", arena_printf(arena, "%" PRId64, volume->size));
}

int stored_set_rules(struct arena *arena, const BackupState *backup,
		     const struct stored_rules *rules, struct error *err)
{
	struct zfs_properties properties = {.n = 0};

	put_rules(arena, rules, &properties);
	return zfs_set(backup->name, &properties, err);
}

/* Destroying backups */

int stored_discard(const BackupState *backup, struct error *err)
{
	const char *argv[] = {"zfs", "receive", "-A", backup->name, NULL};

	if (!*backup->token)
		return 0;
	return zfs_run(argv, err);
}

static int check_unmounted(struct arena *arena, const char *name, struct error *err)
{
	struct mount_table table;

	if (mount_table_read(arena, &table, err) < 0)
		return -1;
	for (size_t i = 0; i < table.n; i++)
		if (mount_is_on(&table.rows[i], name))
			return fail(err, ERR_FAILED_PRECONDITION,
				    "'%s' is mounted at '%s'; unmount it first", name,
				    table.rows[i].target);
	return 0;
}

int stored_destroy(struct arena *arena, const BackupState *backup, struct error *err)
{
	if (check_unmounted(arena, backup->name, err) < 0 || stored_discard(backup, err) < 0)
		return -1;
	if (backup->n_snapshots && zfs_destroy(arena_printf(arena, "%s@%%", backup->name), err) < 0)
		return -1;
	if (zfs_destroy(backup->name, err) == 0)
		return 0;
	/* `zfs receive -A` has destroyed a backup that had no snapshot. */
	return err->code == ERR_NOT_FOUND ? 0 : -1;
}
