/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi backup restore: a snapshot of a backup becomes a new volume on the node that has the backup.
 * The node copies the data to a dataset that is no volume, and adopt.c makes a volume of it.
 *
 * Invariant: a name is never given to two volumes. It is checked before the data is copied, and
 * claimed afterwards, as for any new volume.
 */
#include "controller/cli/backup/restore.h"

#include <string.h>

#include "common/volume/format.h"
#include "controller/cli/adopt.h"

/* Returns the length of the id in "VOLUME@SNAPSHOT"; *ret_snapshot is the snapshot, or NULL. */
static size_t split(const char *what, const char **ret_snapshot)
{
	const char *at = strrchr(what, '@');

	*ret_snapshot = at ? at + 1 : NULL;
	return at ? (size_t)(at - what) : strlen(what);
}

/* Returns true if `what` names the volume of the backup; a volume's id may have an '@' itself. */
static bool is_of(const BackupState *state, const char *what, const char **ret_snapshot)
{
	size_t length = split(what, ret_snapshot);

	if (strlen(state->id) == length && !strncmp(state->id, what, length))
		return true;
	*ret_snapshot = NULL;
	return strcmp(state->id, what) == 0;
}

static int find_snapshot(const struct kept_backup *backup, const char *name, uint64_t *ret,
			 struct error *err)
{
	const BackupState *state = backup->state;
	size_t fit = 0;

	if (!state->n_snapshots)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "the backup of volume '%s' on node '%s' has no snapshot yet", state->id,
			    backup->member->node);
	*ret = state->snapshots[0]->guid;
	for (size_t i = 0; name && i < state->n_snapshots; i++) {
		const CopySnapshot *snapshot = state->snapshots[i];
		if (strncmp(snapshot->name, name, strlen(name)) != 0)
			continue;
		*ret = snapshot->guid;
		fit++;
		if (strcmp(snapshot->name, name) == 0)
			return 0;
	}
	if (!name || fit == 1)
		return 0;
	return fail(err, fit ? ERR_INVALID_ARGUMENT : ERR_NOT_FOUND,
		    "%zu snapshots of the backup on node '%s' begin with '%s'; 'zcsi backup list "
		    "%s' prints their names",
		    fit, backup->member->node, name, state->id);
}

const struct kept_backup *restore_find(const struct kept_backup *list, size_t n, const char *what,
				       const char *node, uint64_t *ret_guid, struct error *err)
{
	const struct kept_backup *found = NULL;
	const char *snapshot, *wanted = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!is_of(list[i].state, what, &snapshot) ||
		    (node && strcmp(node, list[i].member->node) != 0))
			continue;
		if (found) {
			fail(err, ERR_INVALID_ARGUMENT,
			     "nodes '%s' and '%s' have a backup of it: choose one with --node",
			     found->member->node, list[i].member->node);
			return NULL;
		}
		found = &list[i];
		wanted = snapshot;
	}
	if (!found)
		fail(err, ERR_NOT_FOUND,
		     "no node that answers has a backup of '%s'; 'zcsi backup list' prints all",
		     what);
	return found && find_snapshot(found, wanted, ret_guid, err) == 0 ? found : NULL;
}

/* Returns the backups that `what` may mean, with all snapshots. */
static const struct kept_backup *ask(struct cli *cli, const char *what, size_t *ret_n)
{
	const char *snapshot;
	size_t length = split(what, &snapshot);
	const struct kept_backup *list = kept_backups(cli, what, ret_n);

	if (*ret_n || !snapshot)
		return list;
	return kept_backups(cli, arena_printf(&cli->arena, "%.*s", (int)length, what), ret_n);
}

static struct making making_of(struct cli *cli, const struct kept_backup *backup)
{
	const Dataset *volume = backup->state->volume;
	const struct format *format = format_find(volume->format);

	return (struct making){.cli = cli,
			       .id = cli->as ? cli->as : backup->state->id,
			       .place = backup->member,
			       .format = volume->format,
			       .size = format && format->zvol ? 0 : volume->size,
			       .parameters = volume->parameters,
			       .properties = backup->state->properties,
			       .n_properties = backup->state->n_properties};
}

static const char *name_of(const BackupState *backup, uint64_t guid)
{
	for (size_t i = 0; i < backup->n_snapshots; i++)
		if (backup->snapshots[i]->guid == guid)
			return backup->snapshots[i]->name;
	return "";
}

int restore_backup(struct cli *cli, const char *what, struct error *err)
{
	RestoreBackupRequest *request = new_restore_backup_request(&cli->arena);
	GetBackupTaskResponse *task;
	size_t n;
	const struct kept_backup *list = ask(cli, what, &n);
	const struct kept_backup *backup =
		restore_find(list, n, what, cli->node, &request->guid, err);

	if (!backup)
		return -1;
	struct making making = making_of(cli, backup);
	if (making_check(&making, err) < 0)
		return -1;
	request->id = backup->state->id;
	request->as_id = arena_strdup(&cli->arena, making.id);
	const struct change change = {
		backup->member, "RestoreBackup", &request->base,
		arena_printf(&cli->arena,
			     "make volume '%s' on node '%s' of snapshot '%s' of its backup of "
			     "volume '%s'",
			     making.id, backup->member->node, name_of(backup->state, request->guid),
			     request->id)};
	int copied = kept_task(cli, &change, &task, err);
	if (copied <= 0)
		return copied;
	making.guid = task->guid;
	if (making_adopt(&making, err) == 0)
		return 0;
	return fail_context(err,
			    "snapshot '%s' is copied to node '%s', and is no volume yet; when this "
			    "is mended, run the same command again, for that snapshot, and it goes "
			    "on from here",
			    name_of(backup->state, request->guid), backup->member->node);
}
