/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The backup of a new volume on the node that its parameter names. That node pulls the data, and
 * goes on by the backup's own schedule, which only an operator changes.
 *
 * Invariant: CreateVolume makes a volume with a backup and ends with OK only after the pool of that
 * node has the backup and its schedule, so the backups go on whatever happens to controllers.
 */
#include "controller/backup.h"

#include <poll.h>
#include <string.h>

#include "common/clock.h"
#include "controller/agent_methods.h"
#include "controller/placement.h"
#include "controller/replicas.h"

#define EVERY_MIN 60  /* shortest backup_every in seconds, as in zcsi-node */
#define LOOK_MS   200 /* pause between two calls of AddBackup */
#define SPARE_MS  500 /* time left for the answer to reach the caller */

static int check_words(const struct parameters *parameters, struct error *err)
{
	const char *node = parameters->backup;

	if (parameters->backup_every < EVERY_MIN)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "parameter backup_every cannot be %us: a backup runs once a minute at "
			    "most",
			    parameters->backup_every);
	if ((parameters->node && strcmp(parameters->node, node) == 0) ||
	    (parameters->members && placement_is_member(parameters->members, node)))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "parameter backup cannot be '%s': the volume is to be on that node "
			    "itself, and a backup belongs on another one",
			    node);
	return 0;
}

int backup_check(struct rpc_call *call, const struct parameters *parameters, struct error *err)
{
	struct host host;

	if (!parameters->backup)
		return 0;
	if (check_words(parameters, err) < 0)
		return -1;
	if (hosts_find_node(call, parameters->backup, NO_DEADLINE, &host, err) < 0) {
		if (err->code == ERR_NOT_FOUND)
			err->code = ERR_INVALID_ARGUMENT;
		return fail_context(err, "parameter backup");
	}
	const char *why = replicas_refusal(host.says);
	if (!why)
		return 0;
	return fail(err, ERR_RESOURCE_EXHAUSTED, "node '%s' can keep no backup: %s",
		    parameters->backup, why);
}

/* Ask until the backup is there, the task that makes it has failed, or there is no more time. */
static int wait(struct rpc_call *call, const struct agent *agent, AddBackupRequest *request,
		struct error *err)
{
	AddBackupResponse *response;

	for (;;) {
		if (agent_add_backup(call, agent, request, &response, err) < 0)
			return -1;
		if (response->exists)
			return 0;
		request->task = response->task;
		if (time_left_ms(call->deadline) < LOOK_MS + SPARE_MS)
			return fail(err, ERR_ABORTED, "it is being made");
		poll(NULL, 0, LOOK_MS);
	}
}

int backup_add(struct rpc_call *call, const char *id, const char *node_id,
	       const struct parameters *parameters, bool found, struct error *err)
{
	AddBackupRequest *request = new_add_backup_request(&call->arena);
	struct host host;

	/* A volume restored from its backup may be on the backup's node: add none there. */
	if (!parameters->backup || strcmp(parameters->backup, node_id) == 0)
		return 0;
	request->id = arena_strdup(&call->arena, id);
	request->from_node_id = arena_strdup(&call->arena, node_id);
	request->every = parameters->backup_every;
	request->keep = arena_strdup(&call->arena, parameters->backup_keep);
	int failed = hosts_find_node(call, parameters->backup, NO_DEADLINE, &host, err);
	if (failed && found && err->code == ERR_NOT_FOUND)
		return 0;
	if (!failed && wait(call, host.agent, request, err) == 0)
		return 0;
	return fail_context(err,
			    "volume '%s' is created, and node '%s' has no backup of it yet; create "
			    "it again, as before, to go on",
			    id, parameters->backup);
}
