/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi detach: a volume that is a clone gets a copy of all data that it shares with its origin. Its
 * agent makes the copy; this command begins it, and waits.
 *
 * Invariant: without --dry-run the command ends with 0 only if the volume depends on no other one.
 * If the command is interrupted, the agent goes on, and the same command waits again.
 */
#include <poll.h>

#include "controller/cli/cli.h"

#define LOOK_MS 500

/* A run of zcsi detach, and its result. */
struct detach {
	struct cli *cli;
	const struct owned *volume;
	const DetachDatasetResponse *begun;
	const char *state;
};

/* Ask the agent to detach the volume, or, if `check` is true, only whether it could. */
static int ask(struct detach *detach, bool check, struct error *err)
{
	struct arena *arena = &detach->cli->arena;
	DetachDatasetRequest *request = new_detach_dataset_request(arena);

	request->id = arena_strdup(arena, detach->volume->id);
	request->check = check;
	const struct reply reply = fleet_ask_member(
		detach->cli->fleet, arena, detach->volume->owner, "DetachDataset", &request->base);
	detach->begun = reply.response;
	*err = reply.error;
	return reply.response ? 0 : -1;
}

/* Returns 1 if the detach has succeeded, 0 if it runs, or -1 with *err. */
static int look(const struct detach *detach, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	GetDatasetDetachRequest *request = new_get_dataset_detach_request(&arena);

	request->id = arena_strdup(&arena, detach->volume->id);
	const struct reply reply =
		fleet_ask_member(detach->cli->fleet, &arena, detach->volume->owner,
				 "GetDatasetDetach", &request->base);
	const GetDatasetDetachResponse *response = reply.response;
	*err = reply.error;
	if (!response)
		return -1;
	if (response->code)
		return fail(err, (enum error_code)response->code,
			    "volume '%s' is not detached from its origin: %s", detach->volume->id,
			    response->error);
	return !response->running;
}

static int wait_for_end(const struct detach *detach, struct error *err)
{
	int done;

	while ((done = look(detach, err)) == 0)
		poll(NULL, 0, LOOK_MS);
	return done < 0 ? -1 : 0;
}

static void print(const struct detach *detach)
{
	static const struct column columns[] = {
		{"volume", CELL_TEXT}, {"node", CELL_TEXT},  {"origin", CELL_TEXT},
		{"size", CELL_BYTES},  {"free", CELL_BYTES}, {"state", CELL_TEXT},
	};
	const char *origin = detach->begun->origin;
	const struct cell row[] = {
		{.text = detach->volume->id},         {.text = detach->volume->owner->node},
		{.text = *origin ? origin : NULL},    {.number = detach->begun->size},
		{.number = detach->begun->available}, {.text = detach->state},
	};
	const struct table table = {"volume", columns, COUNT(columns), row, 1, true};

	table_print(stdout, &table, &detach->cli->style, NULL, 0);
}

int cli_detach(struct cli *cli, struct error *err)
{
	struct detach detach = {.cli = cli};

	if (cli_volume(cli, cli->args[0], &detach.volume, err) < 0 ||
	    ask(&detach, cli->dry_run, err) < 0)
		return -1;
	const bool running = detach.begun->running, clone = *detach.begun->origin;
	if (running && !cli->dry_run && wait_for_end(&detach, err) < 0)
		return -1;
	detach.state = running && !cli->dry_run ? "detached"
		       : running                ? "is being copied"
		       : clone                  ? "would be copied"
						: "depends on no other volume";
	*err = (struct error){.code = ERR_OK};
	print(&detach);
	return 0;
}
