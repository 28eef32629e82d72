/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi rollback: a volume that is not used becomes what it was at a snapshot.
 *
 * Invariant: before the rollback, a new snapshot keeps what was written since the newest one. The
 * agent checks that again, and refuses the rollback if more was written meanwhile.
 */
#include "controller/cli/change/snapshot.h"

/* A run of zcsi rollback, and its result. */
struct rollback {
	struct cli *cli;
	const struct owned *volume;
	const char *snapshot;      /* id of the snapshot to go back to */
	const char *kept, *former; /* ids of the new snapshot, and of the old data in the trash */
	const char *state;
};

static int ask(const struct rollback *rollback, bool check, const RollbackDatasetResponse **ret,
	       struct error *err)
{
	struct arena *arena = &rollback->cli->arena;
	RollbackDatasetRequest *request = new_rollback_dataset_request(arena);

	request->id = arena_strdup(arena, rollback->volume->id);
	request->snapshot_id = arena_strdup(arena, rollback->snapshot);
	request->check = check;
	const struct reply reply =
		fleet_ask_member(rollback->cli->fleet, arena, rollback->volume->owner,
				 "RollbackDataset", &request->base);
	*ret = reply.response;
	*err = reply.error;
	return reply.response ? 0 : -1;
}

static void print(const struct rollback *rollback)
{
	static const struct column columns[] = {
		{"volume", CELL_TEXT}, {"node", CELL_TEXT},     {"snapshot", CELL_TEXT},
		{"kept", CELL_TEXT},   {"in_trash", CELL_TEXT}, {"state", CELL_TEXT},
	};
	const struct cell row[] = {
		{.text = rollback->volume->id}, {.text = rollback->volume->owner->node},
		{.text = rollback->snapshot},   {.text = rollback->kept},
		{.text = rollback->former},     {.text = rollback->state},
	};
	const struct table table = {"volume", columns, COUNT(columns), row, 1, true};

	table_print(stdout, &table, &rollback->cli->style, NULL, 0);
}

/* Take a snapshot if some data is in none (unkept), and roll back. */
static int carry_out(struct rollback *rollback, bool unkept, struct error *err)
{
	const RollbackDatasetResponse *response;
	DatasetSnapshot *kept;

	if (unkept) {
		if (snapshot_take_new(rollback->cli, rollback->volume, "before-rollback", &kept,
				      err) < 0)
			return -1;
		rollback->kept = kept->id;
	}
	if (ask(rollback, false, &response, err) < 0)
		return rollback->kept ? fail_context(err, "what was written is in snapshot '%s'",
						     rollback->kept)
				      : -1;
	rollback->former = *response->former ? response->former : NULL;
	rollback->state = response->already ? "was as in the snapshot already" : "rolled back";
	return 0;
}

int cli_rollback(struct cli *cli, struct error *err)
{
	struct rollback rollback = {.cli = cli, .snapshot = cli->args[1]};
	const RollbackDatasetResponse *response;

	if (cli_volume(cli, cli->args[0], &rollback.volume, err) < 0 ||
	    ask(&rollback, true, &response, err) < 0)
		return -1;
	rollback.state = response->already  ? "is as in the snapshot already"
			 : response->unkept ? "would be rolled back, after a snapshot of what it is"
					    : "would be rolled back";
	if (!cli->dry_run && carry_out(&rollback, response->unkept && !response->already, err) < 0)
		return -1;
	print(&rollback);
	return 0;
}
