/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Asking nodes for their backups, and waiting for their tasks.
 *
 * Invariant: a task goes on whether or not its caller waits. So an error of a wait says nothing
 * about the backup; `zcsi backup list` does.
 */
#include "controller/cli/backup/kept.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS 300 /* pause between two calls of GetBackupTask */

static int by_volume(const void *a, const void *b)
{
	const struct kept_backup *one = a, *other = b;
	int order = strcmp(one->state->id, other->state->id);

	return order ? order : strcmp(one->member->node, other->member->node);
}

/* Returns false if the agent answered, or if it refuses the call or is too old to support it. */
static bool is_silence(const struct reply *reply)
{
	return !reply->response && reply->error.code != ERR_PERMISSION_DENIED &&
	       reply->error.code != ERR_UNIMPLEMENTED;
}

struct kept_backup *kept_backups(struct cli *cli, const char *id, size_t *ret_n)
{
	ListBackupsRequest *request = new_list_backups_request(&cli->arena);
	size_t most = 1;

	request->id = arena_strdup(&cli->arena, id);
	const struct reply *replies =
		fleet_ask(cli->fleet, &cli->arena, "ListBackups", &request->base);
	for (size_t i = 0; i < cli->n_members; i++) {
		const ListBackupsResponse *list = replies[i].response;
		most += list ? list->n_backups : 0;
		if (is_silence(&replies[i]) && cli->members[i].host)
			cli->members[i].error = replies[i].error;
	}
	struct kept_backup *all = arena_alloc(&cli->arena, most * sizeof(*all));
	*ret_n = 0;
	for (size_t i = 0; i < cli->n_members; i++) {
		const ListBackupsResponse *list = replies[i].response;
		for (size_t k = 0; list && k < list->n_backups; k++)
			all[(*ret_n)++] = (struct kept_backup){&cli->members[i], list->backups[k],
							       list->time};
	}
	qsort(all, *ret_n, sizeof(*all), by_volume);
	return all;
}

/* Returns 1 if the task has ended well, 0 if it waits or runs, or -1 with *err. */
static int look(struct cli *cli, const struct member *member, const GetBackupTaskRequest *request,
		GetBackupTaskResponse **ret, struct error *err)
{
	const struct reply reply =
		fleet_ask_member(cli->fleet, &cli->arena, member, "GetBackupTask", &request->base);

	*ret = reply.response;
	*err = reply.error;
	if (!*ret)
		return -1;
	if (!(*ret)->code)
		return (*ret)->ended;
	return fail(err, (enum error_code)(*ret)->code, "%s", (*ret)->error);
}

/* Returns the number of the task that a call of this method has begun. */
static uint64_t task_of(const char *method, const void *response)
{
	if (strcmp(method, "RunBackup") == 0)
		return ((const RunBackupResponse *)response)->task;
	if (strcmp(method, "VerifyBackup") == 0)
		return ((const VerifyBackupResponse *)response)->task;
	return ((const RestoreBackupResponse *)response)->task;
}

int kept_task(struct cli *cli, const struct change *change, GetBackupTaskResponse **ret,
	      struct error *err)
{
	GetBackupTaskRequest *request = new_get_backup_task_request(&cli->arena);
	const void *begun;
	int done = dry_run_or_ask(cli, change, &begun, err);

	if (done <= 0)
		return done;
	request->task = task_of(change->method, begun);
	while ((done = look(cli, change->member, request, ret, err)) == 0)
		poll(NULL, 0, LOOK_MS);
	return done;
}
