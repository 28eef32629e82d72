/* SPDX-License-Identifier: MPL-2.0 */
/*
 * statvfs(3) on an errand, since on a mount that is dead it never returns and nothing can make it.
 *
 * Invariant: a dead mount costs one thread however often it is asked about. A mount is told by the
 * kernel's id of it too: a path may have another one by now.
 */
#include "node/mount/usage.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/errand.h"

struct question {
	char *path;
	int error;
	struct statvfs answer;
};

static void ask(void *work)
{
	struct question *question = work;

	question->error = statvfs(question->path, &question->answer) ? errno : 0;
}

static void discard(void *work)
{
	struct question *question = work;

	free(question->path);
	free(question);
}

int usage_ask(const struct mount *mount, int64_t deadline, struct statvfs *ret)
{
	char key[PATH_MAX + 32];
	struct question *question = mem_alloc(sizeof(*question));

	question->path = mem_strdup(mount->target);
	snprintf(key, sizeof(key), "statvfs %d %s", mount->id, mount->target);
	int error =
		errand_run(&(struct errand){USAGE_THREAD, key, ask, discard, question}, deadline);
	if (error)
		return error;
	error = question->error;
	*ret = question->answer;
	discard(question);
	return error;
}
