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
#include "node/record/zfs_row.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

#define OUTPUT_MAX ((size_t)256 << 20)

static const char columns[] =
	"name,guid,creation,used,volsize,receive_resume_token,zcsi:volume,zcsi:backup,zcsi:size,"
	"zcsi:parameters,zcsi:format,zcsi:root,zcsi:keep,zcsi:backup_every,zcsi:backup_keep,"
	"zcsi:verified,userrefs,clones";

enum field {
	NAME,
	GUID,
	CREATION,
	USED,
	VOLSIZE,
	TOKEN,
	VOLUME,
	FROM,
	SIZE,
	PARAMETERS,
	FORMAT,
	ROOT,
	KEEP,
	BACKUP_EVERY,
	BACKUP_KEEP,
	VERIFIED,
	HOLDS,
	CLONES,
	FIELDS
};

char *stored_name(struct arena *arena, const char *parent, const char *id)
{
	return dataset_name(arena, arena_printf(arena, "%s/" BACKUP_FOLDER, parent), id);
}

char *stored_key(struct arena *arena, const char *name)
{
	return arena_printf(arena, "backup %s", name);
}

/* Parsing the output of `zfs list` */

static char *unescaped(struct arena *arena, char *value)
{
	char *text = unescape_text(arena, zfs_row_text(value));

	return text ? text : value;
}

static void add_property(struct arena *arena, const char *name, char *value, BackupState *to)
{
	Property *property = new_property(arena);

	if (!*zfs_row_text(value))
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

/* Returns the backup that a line of `zfs list` describes, without snapshots. */
static BackupState *backup_of(struct arena *arena, char *const *field)
{
	BackupState *backup = new_backup_state(arena);
	int64_t volsize = strtoll(field[VOLSIZE], NULL, 10);

	backup->volume = new_dataset(arena);
	backup->properties = arena_alloc(arena, 2 * sizeof(*backup->properties));
	backup->id = backup->volume->id = unescaped(arena, field[VOLUME]);
	backup->name = field[NAME];
	take_nodes(arena, zfs_row_text(field[FROM]), backup);
	backup->every = strtoll(field[BACKUP_EVERY], NULL, 10);
	backup->keep = zfs_row_text(field[BACKUP_KEEP]);
	backup->verified = strtoll(field[VERIFIED], NULL, 10);
	backup->used = strtoll(field[USED], NULL, 10);
	backup->token = zfs_row_text(field[TOKEN]);
	backup->volume->size = volsize ? volsize : strtoll(field[SIZE], NULL, 10);
	backup->volume->parameters = unescaped(arena, field[PARAMETERS]);
	backup->volume->format = *zfs_row_text(field[FORMAT]) ? field[FORMAT] : (char *)FORMAT_ZFS;
	add_property(arena, "zcsi:root", field[ROOT], backup);
	add_property(arena, "zcsi:keep", field[KEEP], backup);
	return backup;
}

static CopySnapshot *snapshot_of(struct arena *arena, char *const *field, char *at)
{
	CopySnapshot *snapshot = new_copy_snapshot(arena);

	snapshot->name = at + 1;
	snapshot->guid = strtoull(field[GUID], NULL, 10);
	snapshot->creation = strtoll(field[CREATION], NULL, 10);
	snapshot->kept = strtoull(field[HOLDS], NULL, 10) || *zfs_row_text(field[CLONES]);
	return snapshot;
}

/* Returns the number of fields; more than FIELDS if the line has more. */
static size_t split(char *line, char **field)
{
	size_t n = 0;

	while (n < FIELDS && (field[n] = strsep(&line, "\t")))
		n++;
	return line ? FIELDS + 1 : n;
}

/* A backup while its lines are read, and its snapshots, oldest first. */
struct building {
	BackupState *backup;
	CopySnapshot **snapshots;
	size_t n;
};

/* Add the backup whose lines were read, if there was one, to the list, unless its name is wrong. */
static void finish(struct arena *arena, const char *parent, struct building *building, size_t most,
		   struct stored_list *list)
{
	BackupState *backup = building->backup;
	size_t n = building->n < most ? building->n : most;

	if (!backup || !*backup->id ||
	    strcmp(backup->name, stored_name(arena, parent, backup->id)) != 0)
		return;
	backup->count = (int64_t)building->n;
	backup->snapshots = arena_alloc(arena, (n + 1) * sizeof(*backup->snapshots));
	for (size_t i = 0; i < n; i++)
		backup->snapshots[i] = building->snapshots[building->n - 1 - i];
	backup->n_snapshots = n;
	list->rows[list->n++] = backup;
}

static int by_id(const void *a, const void *b)
{
	return strcmp((*(BackupState *const *)a)->id, (*(BackupState *const *)b)->id);
}

void stored_parse(struct arena *arena, const char *parent, char *text, size_t most,
		  struct stored_list *ret)
{
	struct building building = {.n = 0};
	size_t lines = 1;
	char *state;

	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	ret->rows = arena_alloc(arena, lines * sizeof(*ret->rows));
	ret->n = 0;
	building.snapshots = arena_alloc(arena, lines * sizeof(*building.snapshots));
	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		char *field[FIELDS];
		if (split(line, field) != FIELDS)
			continue;
		char *at = strchr(field[NAME], '@');
		if (at) {
			building.snapshots[building.n++] = snapshot_of(arena, field, at);
			continue;
		}
		finish(arena, parent, &building, most, ret);
		building.backup = backup_of(arena, field);
		building.n = 0;
	}
	finish(arena, parent, &building, most, ret);
	qsort(ret->rows, ret->n, sizeof(BackupState *), by_id);
}

/* Reading backups */

/* Without -s, zfs prints each dataset before its snapshots, and these in the order of their age. */
static int read_below(struct arena *arena, const char *parent, const char *name, const char *depth,
		      size_t most, struct stored_list *ret, struct error *err)
{
	const char *argv[] = {
		"zfs", "list",  "-Hp", "-d", depth, "-t", "filesystem,volume,snapshot",
		"-o",  columns, name,  NULL};
	const struct exec exec = {
		.argv = argv, .timeout_ms = zfs_run_list_timeout(), .max_output = OUTPUT_MAX};
	auto_free char *out = NULL;

	*ret = (struct stored_list){.n = 0};
	if (zfs_run_once(&exec, &out, err) < 0)
		return zfs_is_missing(parent, err);
	stored_parse(arena, parent, arena_strdup(arena, out), most, ret);
	return 0;
}

int stored_read_all(struct arena *arena, const char *parent, struct stored_list *ret,
		    struct error *err)
{
	return read_below(arena, parent, arena_printf(arena, "%s/" BACKUP_FOLDER, parent), "2", 1,
			  ret, err);
}

int stored_read(struct arena *arena, const char *parent, const char *id, BackupState **ret,
		struct error *err)
{
	const char *name = stored_name(arena, parent, id);
	struct stored_list list;

	*ret = NULL;
	if (read_below(arena, parent, name, "1", BACKUP_SNAPSHOTS, &list, err) < 0)
		return -1;
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
