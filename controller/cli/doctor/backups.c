/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The findings about backups: runs that failed or are late, data that was not read back, and
 * backups of volumes that are gone.
 *
 * Invariant: no finding's command destroys a backup, which may be the last data of a volume. A
 * volume is gone only if every host of the cluster was asked and has answered.
 */
#include <string.h>
#include <time.h>

#include "controller/cli/backup/kept.h"
#include "controller/cli/doctor/doctor.h"
#include "controller/cli/print/amount.h"

#define VERIFIED_S (90 * 86400) /* seconds: a backup that was not read back for longer is a note */

static void say(struct doctor *doctor, enum doctor_level level, const struct kept_backup *backup,
		const char *text, const char *type)
{
	doctor_say(doctor, &(struct finding){.level = level,
					     .volume = backup->state->id,
					     .node = backup->member->node,
					     .text = text,
					     .type = type});
}

static const char *command(struct doctor *doctor, const char *verb,
			   const struct kept_backup *backup)
{
	return arena_printf(&doctor->cli->arena, "zcsi backup %s %s %s", verb, backup->state->id,
			    backup->member->node);
}

static void say_gone(struct doctor *doctor, const struct kept_backup *backup)
{
	struct arena *arena = &doctor->cli->arena;
	const BackupState *state = backup->state;

	say(doctor, DOCTOR_WAITS, backup,
	    arena_printf(arena,
			 "it is on no node any more, and its backup is of %s: restore it, or drop "
			 "the backup ('%s')",
			 amount_moment(arena, state->snapshots[0]->creation),
			 command(doctor, "drop", backup)),
	    arena_printf(arena, "zcsi backup restore %s --node %s", state->id,
			 backup->member->node));
}

/* Add why the last task failed. If another volume's backup is in the way, advise to rename it. */
static void say_error(struct doctor *doctor, const struct kept_backup *backup)
{
	struct arena *arena = &doctor->cli->arena;
	const BackupState *state = backup->state;
	const char *leaf = strrchr(state->name, '/') + 1;

	if (strstr(state->error, command(doctor, "drop", backup)))
		say(doctor, DOCTOR_MAY_STOP, backup,
		    arena_printf(arena,
				 "its backup does not go on: %s; keep the old one under another "
				 "name there, and then add a new one",
				 state->error),
		    arena_printf(arena, "zfs rename %s %.*s/%s-backup", state->name,
				 (int)strcspn(state->name, "/"), state->name, leaf));
	else if (state->verify_failed)
		say(doctor, DOCTOR_MAY_STOP, backup,
		    arena_printf(arena, "its backup could not be read back: %s; mend that first",
				 state->error),
		    command(doctor, "verify", backup));
	else
		say(doctor, DOCTOR_MAY_STOP, backup,
		    arena_printf(arena, "its backup failed: %s; mend that first", state->error),
		    command(doctor, "run", backup));
}

/* Returns why a backup without an error has to be run, or NULL. */
static const char *trouble_of(struct arena *arena, const struct kept_backup *backup)
{
	const BackupState *state = backup->state;

	if (!state->n_snapshots)
		return "its backup has no data yet";
	if (*state->token)
		return "the stream to its backup was interrupted";
	int64_t age = backup->now - state->snapshots[0]->creation;
	if (state->every > 0 && age > 2 * state->every)
		return arena_printf(arena, "its backup is %s old, and is to be made every %s",
				    amount_time(arena, age), amount_time(arena, state->every));
	return NULL;
}

static void look(struct doctor *doctor, const struct kept_backup *backup, bool complete)
{
	const BackupState *state = backup->state;
	const char *trouble = trouble_of(&doctor->cli->arena, backup);

	if (state->busy)
		return;
	if (complete && state->n_snapshots && !doctor_has_volume(doctor, state->id))
		say_gone(doctor, backup);
	else if (*state->error)
		say_error(doctor, backup);
	else if (trouble)
		say(doctor, DOCTOR_MAY_STOP, backup, trouble, command(doctor, "run", backup));
	else if (backup->now - state->verified > VERIFIED_S)
		say(doctor, DOCTOR_NOTE, backup,
		    state->verified ? "its backup was not read back for 90 days"
				    : "its backup was never read back",
		    command(doctor, "verify", backup));
}

void doctor_backups(struct doctor *doctor)
{
	size_t n;
	const struct kept_backup *all = kept_backups(doctor->cli, "", &n);
	bool complete = doctor_list_is_complete(doctor);

	for (size_t i = 0; i < n; i++)
		look(doctor, &all[i], complete);
}
