/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Replaying an intent log by a superblock that is attached to no mount.
 *
 * Invariant: the superblock ends with the descriptor of fsopen(2), so with the process too. It is
 * not read-only, because ZFS would refuse to share it with a staging that comes meanwhile.
 */
#include "node/mount/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/bounded_call.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/mem.h"

struct replay {
	char *dataset;
	int error;
};

/* Returns 0 or an errno. */
static int make_superblock(const char *dataset)
{
	auto_close int fs = fsopen("zfs", FSOPEN_CLOEXEC);

	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "source", dataset, 0) ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return errno;
	return 0;
}

static void run(void *work)
{
	struct replay *replay = work;

	replay->error = make_superblock(replay->dataset);
	child_settle();
}

static void discard(void *work)
{
	struct replay *replay = work;

	free(replay->dataset);
	free(replay);
}

/* Returns 0 or an errno. */
static int run_bounded(const char *dataset)
{
	struct replay *replay = mem_alloc(sizeof(*replay));
	auto_free char *key = NULL;

	*replay = (struct replay){.dataset = mem_strdup(dataset)};
	if (asprintf(&key, "replay %s", dataset) < 0)
		abort();
	int error = bounded_call_run(&(struct bounded_call){.thread = "replay",
							    .key = key,
							    .run = run,
							    .discard = discard,
							    .work = replay},
				     now_ms() + REPLAY_MS);
	if (error)
		return error;
	error = replay->error;
	discard(replay);
	return error;
}

int replay_log(const char *dataset, struct error *err)
{
	errno = run_bounded(dataset);
	if (!errno)
		return 0;
	if (errno == EACCES)
		return fail(err, ERR_UNAUTHENTICATED, "the key of '%s' is not loaded", dataset);
	fail_errno(err, "cannot mount '%s' to replay its intent log", dataset);
	if (err->code != ERR_NOT_FOUND)
		err->code = ERR_UNAVAILABLE;
	return -1;
}
