/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Thinning a backup by the rules of schedules (node/schedule/due.h): of each hour, day and so on,
 * the first snapshot counts.
 *
 * Invariant: the newest snapshot stays, because the next stream begins at it. Only snapshots that
 * were taken for backups go, and none that is held, has a clone, or is of the future. The destroy
 * is neither recursive nor deferred, so ZFS refuses if anything else depends on one.
 */
#include "node/backup/expire.h"

#include <string.h>
#include <time.h>

#include "common/log.h"
#include "node/record/snapshot.h"
#include "node/schedule/due.h"
#include "node/zfs/zfs.h"

#define WORD_MOST 256 /* how many snapshots one argument of `zfs destroy` names */

/*
 * A backup is due too if its newest snapshot is an interval or more in the future: a clock was
 * wrong.
 */
bool expire_is_due(const BackupState *backup, int64_t now)
{
	if (backup->every <= 0)
		return false;
	if (!backup->n_snapshots)
		return true;
	int64_t age = now - backup->snapshots[0]->creation;
	return age >= backup->every || age <= -backup->every;
}

static bool is_ours(const CopySnapshot *snapshot)
{
	return !strncmp(snapshot->name, SNAPSHOT_BACKUP, strlen(SNAPSHOT_BACKUP));
}

/*
 * Returns true if the rules apply to the snapshot: it was taken for a backup, and not in the
 * future, where a clock that was ahead may have put it.
 */
static bool counts(const CopySnapshot *snapshot, int64_t now)
{
	return is_ours(snapshot) && snapshot->creation <= now;
}

/*
 * Returns the snapshots of the backup, oldest first, each with the units (hour, day and so on) of
 * which it is the first one.
 */
static struct scheduled *rows_of(struct arena *arena, const BackupState *backup,
				 const struct schedule *schedule, int64_t now)
{
	struct scheduled *rows = arena_alloc(arena, (backup->n_snapshots + 1) * sizeof(*rows));

	for (size_t i = 0; i < backup->n_snapshots; i++) {
		const CopySnapshot *snapshot = backup->snapshots[backup->n_snapshots - 1 - i];
		rows[i].time = snapshot->creation;
		rows[i].units = counts(snapshot, now)
					? due_units(schedule, rows, i, snapshot->creation)
					: 0;
	}
	return rows;
}

char **expire_words(struct arena *arena, const BackupState *backup, int64_t now, size_t *ret_n)
{
	size_t n = backup->n_snapshots, in_word = 0;
	char **words = arena_alloc(arena, (n / WORD_MOST + 1) * sizeof(*words));
	struct schedule schedule;

	*ret_n = 0;
	if (!schedule_parse(backup->keep, &schedule) || !schedule_is_set(&schedule))
		return words;
	const struct scheduled *rows = rows_of(arena, backup, &schedule, now);
	for (size_t i = 0; i + 1 < n; i++) {
		const CopySnapshot *snapshot = backup->snapshots[n - 1 - i];
		if (!counts(snapshot, now) || snapshot->kept ||
		    !due_to_go(&schedule, rows, n, &rows[i]))
			continue;
		if (in_word++ % WORD_MOST == 0)
			words[(*ret_n)++] =
				arena_printf(arena, "%s@%s", backup->name, snapshot->name);
		else
			words[*ret_n - 1] =
				arena_printf(arena, "%s,%s", words[*ret_n - 1], snapshot->name);
	}
	return words;
}

void expire_run(struct arena *arena, const BackupState *backup)
{
	size_t n;
	char **words = expire_words(arena, backup, time(NULL), &n);
	struct error err;

	for (size_t i = 0; i < n; i++)
		if (zfs_destroy(words[i], &err) < 0 && err.code != ERR_NOT_FOUND)
			log_warn("cannot destroy old snapshots of a backup",
				 log_str("volume", backup->id), log_str("error", err.text));
}
