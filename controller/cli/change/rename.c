/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi rename: a volume that is not used gets another name, and its snapshots with it.
 *
 * Invariant: all agents answer, and none has anything of the new name: no volume, snapshot, copy,
 * backup, deleted or received volume. Then the name is claimed, as for a new volume (adopt.h).
 */
#include <stdio.h>
#include <string.h>

#include "controller/cli/adopt.h"
#include "controller/cli/cli.h"
#include "controller/request/field.h"
#include "proto/copy.h"

/* A run of zcsi rename, and its result. */
struct rename {
	struct cli *cli;
	const char *from, *to;
	const struct owned *volume; /* by its new name if it was renamed before */
	const char *state;
};

/* Calls to the agent of the volume */

static int ask_owner(const struct rename *rename, uint64_t claim, const RenameDatasetResponse **ret,
		     struct error *err)
{
	struct arena *arena = &rename->cli->arena;
	RenameDatasetRequest *request = new_rename_dataset_request(arena);

	request->id = arena_strdup(arena, rename->from);
	request->new_id = arena_strdup(arena, rename->to);
	request->claim = claim;
	request->check = !claim;
	const struct reply reply = fleet_ask_member(
		rename->cli->fleet, arena, rename->volume->owner, "RenameDataset", &request->base);
	*ret = reply.response;
	*err = reply.error;
	return *ret ? 0 : -1;
}

/* Find the volume, or what it became if the answer to an earlier command was lost. */
static int find(struct rename *rename, bool *ret_already, struct error *err)
{
	const RenameDatasetResponse *response;
	struct error other;

	*ret_already = false;
	if (cli_volume(rename->cli, rename->from, &rename->volume, err) == 0)
		return ask_owner(rename, 0, &response, err);
	if (err->code != ERR_NOT_FOUND ||
	    cli_volume(rename->cli, rename->to, &rename->volume, &other) < 0 ||
	    ask_owner(rename, 0, &response, &other) < 0 || !response->already)
		return -1;
	*ret_already = true;
	return 0;
}

/* Checks of all hosts */

/* Ask all agents; returns NULL with *err if one that has a pool does not answer. */
static const struct reply *ask_all(const struct rename *rename, const char *method,
				   const ProtobufCMessage *request, struct error *err)
{
	struct cli *cli = rename->cli;
	const struct reply *replies = fleet_ask(cli->fleet, &cli->arena, method, request);

	for (size_t i = 0; i < cli->n_members; i++) {
		const struct member *member = &cli->members[i];
		bool has_pool = !member->host || *member->host->dataset;
		if (replies[i].response || !has_pool)
			continue;
		fail(err, ERR_UNAVAILABLE,
		     "'%s' did not report what it has of '%s' and '%s': %s; all agents must answer",
		     member->node, rename->from, rename->to, replies[i].error.text);
		return NULL;
	}
	return replies;
}

/* Check that the volume is mounted on no host, also by NFS without a record of it. */
static int check_use(const struct rename *rename, struct error *err)
{
	struct cli *cli = rename->cli;
	GetDatasetUseRequest *request = new_get_dataset_use_request(&cli->arena);
	const Dataset *volume = rename->volume->entry;

	request->id = volume->id;
	request->name = volume->name;
	const struct reply *replies = ask_all(rename, "GetDatasetUse", &request->base, err);
	for (size_t i = 0; replies && i < cli->n_members; i++) {
		const GetDatasetUseResponse *use = replies[i].response;
		if (use && use->n_paths)
			return fail(err, ERR_FAILED_PRECONDITION,
				    "it is mounted on node '%s' at '%s': stop the job that uses it "
				    "first",
				    cli->members[i].node, use->paths[0]);
	}
	return replies ? 0 : -1;
}

/* Check that no node has a backup of volume `id`; the error contains `advice`. */
static int check_backup(const struct rename *rename, const char *id, const char *advice,
			struct error *err)
{
	struct cli *cli = rename->cli;
	ListBackupsRequest *request = new_list_backups_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, id);
	const struct reply *replies = ask_all(rename, "ListBackups", &request->base, err);
	for (size_t i = 0; replies && i < cli->n_members; i++) {
		const ListBackupsResponse *list = replies[i].response;
		if (list && list->n_backups)
			return fail(err, ERR_FAILED_PRECONDITION,
				    "node '%s' has a backup of '%s': %s with 'zcsi backup drop %s "
				    "%s'",
				    cli->members[i].node, id, advice, id, cli->members[i].node);
	}
	return replies ? 0 : -1;
}

static int check_copies(const struct rename *rename, struct error *err)
{
	struct cli *cli = rename->cli;
	ListCopiesRequest *request = new_list_copies_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, rename->to);
	const struct reply *replies = ask_all(rename, "ListCopies", &request->base, err);
	for (size_t i = 0; replies && i < cli->n_members; i++) {
		const ListCopiesResponse *list = replies[i].response;
		if (list && list->n_copies)
			return fail(err, ERR_ALREADY_EXISTS,
				    "node '%s' has a copy of a volume '%s': choose another name; "
				    "'zcsi why %s' says what that copy is for",
				    cli->members[i].node, rename->to, rename->to);
	}
	return replies ? 0 : -1;
}

static int check_diverged(const struct rename *rename, struct error *err)
{
	struct cli *cli = rename->cli;
	const struct reply *replies =
		ask_all(rename, "ListDiverged", &new_list_diverged_request(&cli->arena)->base, err);

	for (size_t i = 0; replies && i < cli->n_members; i++) {
		const ListDivergedResponse *list = replies[i].response;
		for (size_t k = 0; list && k < list->n_volumes; k++)
			if (strcmp(list->volumes[k]->id, rename->to) == 0)
				return fail(err, ERR_ALREADY_EXISTS,
					    "node '%s' has put data of a volume '%s' aside: choose "
					    "another name, or run 'zcsi diverged drop %s'",
					    cli->members[i].node, rename->to,
					    list->volumes[k]->name);
	}
	return replies ? 0 : -1;
}

static int check_received(const struct rename *rename, struct error *err)
{
	struct cli *cli = rename->cli;
	const struct reply *replies =
		ask_all(rename, "ListReceived", &new_list_received_request(&cli->arena)->base, err);

	for (size_t i = 0; replies && i < cli->n_members; i++) {
		const ListReceivedResponse *list = replies[i].response;
		for (size_t k = 0; list && k < list->n_ids; k++)
			if (strcmp(list->ids[k], rename->to) == 0)
				return fail(err, ERR_ALREADY_EXISTS,
					    "node '%s' has received a volume '%s' that is none "
					    "yet: choose another name, or run '%s' before",
					    cli->members[i].node, rename->to,
					    making_command(&cli->arena, &cli->members[i],
							   rename->to));
	}
	return replies ? 0 : -1;
}

static int check_trash(const struct rename *rename, struct error *err)
{
	struct cli *cli = rename->cli;
	size_t n;
	const struct owned *trash = cli_trashed(cli, rename->to, &n);

	for (size_t i = 0; i < cli->n_members; i++)
		if (cli->members[i].error.code != ERR_OK)
			return fail(err, ERR_UNAVAILABLE,
				    "'%s' did not report what is in its trash: %s; all agents must "
				    "answer",
				    cli->members[i].node, cli->members[i].error.text);
	for (size_t i = 0; i < n; i++)
		if (strcmp(((const TrashedDataset *)trash[i].entry)->id, rename->to) == 0)
			return fail(err, ERR_ALREADY_EXISTS,
				    "node '%s' has a deleted volume '%s' in its trash: choose "
				    "another name, or run 'zcsi trash empty %s'",
				    trash[i].owner->node, rename->to, rename->to);
	return 0;
}

static int check(const struct rename *rename, struct error *err)
{
	const struct making making = {
		.cli = rename->cli, .id = rename->to, .place = rename->volume->owner};

	if (check_use(rename, err) < 0 || making_check(&making, err) < 0 ||
	    check_backup(rename, rename->from,
			 "it keeps that name, so drop it first, and add one again afterwards,",
			 err) < 0 ||
	    check_backup(rename, rename->to, "choose another name, or drop it", err) < 0 ||
	    check_copies(rename, err) < 0 || check_diverged(rename, err) < 0 ||
	    check_received(rename, err) < 0)
		return -1;
	return check_trash(rename, err);
}

/* The rename */

static int rename_for(const struct making *making, uint64_t claim, struct error *err)
{
	const struct rename rename = {.cli = making->cli,
				      .from = making->cli->args[0],
				      .to = making->id,
				      .volume = &(struct owned){.owner = making->place}};
	const RenameDatasetResponse *response;

	return ask_owner(&rename, claim, &response, err);
}

static int carry_out(const struct rename *rename, struct error *err)
{
	const struct making making = {
		.cli = rename->cli, .id = rename->to, .place = rename->volume->owner};

	return making_claim(&making, rename_for, err);
}

/* Returns the commands by which an operator gives the volume's new name to Nomad. */
static const char *for_nomad(const struct rename *rename)
{
	return arena_printf(&rename->cli->arena,
			    "nomad volume deregister ID; nomad volume create FILE, with name = "
			    "\"%s\" in FILE (or nomad volume register FILE, with external_id = "
			    "\"%s\")",
			    rename->to, rename->to);
}

static void print(const struct rename *rename)
{
	static const struct column columns[] = {
		{"volume", CELL_TEXT}, {"node", CELL_TEXT}, {"was", CELL_TEXT},
		{"state", CELL_TEXT},  {"type", CELL_TEXT},
	};
	const struct cell row[] = {
		{.text = rename->to},        {.text = rename->volume->owner->node},
		{.text = rename->from},      {.text = rename->state},
		{.text = for_nomad(rename)},
	};
	const struct table table = {"volume", columns, COUNT(columns), row, 1, true};

	table_print(stdout, &table, &rename->cli->style, NULL, 0);
}

int cli_rename(struct cli *cli, struct error *err)
{
	struct rename rename = {.cli = cli, .from = cli->args[0], .to = cli->args[1]};
	bool already;

	if (field_check_name("NEW", rename.to, err) < 0 || find(&rename, &already, err) < 0)
		return -1;
	if (!already && check(&rename, err) < 0)
		return fail_context(err, "volume '%s' is not renamed", rename.from);
	if (!already && !cli->dry_run && carry_out(&rename, err) < 0)
		return -1;
	rename.state = already ? "renamed already" : cli->dry_run ? "would be renamed" : "renamed";
	*err = (struct error){.code = ERR_OK};
	print(&rename);
	return 0;
}
