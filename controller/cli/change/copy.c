/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi copy, pause and resume: which nodes have copies of a volume, and whether they are sent what
 * is written. The owner of the volume stores these settings and carries them out.
 *
 * Invariant: with --dry-run the owner is asked to change nothing. The last complete copy is
 * destroyed only by the statement --destroy.
 */
#include <string.h>

#include "controller/cli/copies.h"
#include "controller/cli/print/statement.h"

/* Call a method of the agent that has the volume; the response is empty. */
static int ask_owner_of(struct cli *cli, const struct owned *volume, const char *method,
			const ProtobufCMessage *request, struct error *err)
{
	const struct reply reply =
		fleet_ask_member(cli->fleet, &cli->arena, volume->owner, method, request);

	*err = reply.error;
	return reply.response ? 0 : -1;
}

static int ask_owner(struct cli *cli, const char *id, const char *method,
		     const ProtobufCMessage *request, struct error *err)
{
	const struct owned *volume;

	if (cli_volume(cli, id, &volume, err) < 0)
		return -1;
	return ask_owner_of(cli, volume, method, request, err);
}

static int add(struct cli *cli, const char *id, const char *node, struct error *err)
{
	AddMemberRequest *request = new_add_member_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, id);
	request->node_id = arena_strdup(&cli->arena, node);
	return ask_owner(cli, id, "AddMember", &request->base, err);
}

/*
 * Returns true if the node may have the only complete copy of the volume. Its copy counts as
 * complete while its state is unknown, soon after a start of the owner's zcsi-node. Copies on nodes
 * that were replaced do not count.
 */
static bool is_last(const Dataset *volume, const char *node)
{
	bool last = false;

	for (size_t i = 0; i < volume->n_copies; i++) {
		const DatasetCopy *copy = volume->copies[i];
		if (strcmp(copy->node_id, node) == 0)
			last = copy->complete || !copy->known;
		else if (copy->complete)
			return false;
	}
	return last;
}

/* Returns true if --gone states that the copy is lost, and no agent that answers is of the node. */
static bool is_gone(const struct cli *cli, const char *node)
{
	return cli->gone && !fleet_node(cli->members, cli->n_members, node);
}

/* Check that --destroy states the loss of the last copy; returns the result of statement_check. */
static int check_last(struct cli *cli, const char *id, const char *node, struct error *err)
{
	const struct destruction copy = {.command =
						 arena_printf(&cli->arena, "zcsi copy drop %s %s%s",
							      id, node, cli->gone ? " --gone" : ""),
					 .fact = "it is 1 copy",
					 .what = "the only complete copy",
					 .n = 1};
	int stated = statement_check(&copy, cli->destroy, err);

	if (!stated) {
		copies_print(cli, id, node);
		statement_ask(&copy);
		cli->degraded = true;
	}
	return stated;
}

static int drop(struct cli *cli, const char *id, const char *node, struct error *err)
{
	RemoveMemberRequest *request = new_remove_member_request(&cli->arena);
	const struct owned *volume;

	if (cli_volume(cli, id, &volume, err) < 0)
		return -1;
	if (is_last(volume->entry, node) && !is_gone(cli, node)) {
		int stated = check_last(cli, id, node, err);
		if (stated <= 0)
			return stated;
	}
	request->id = arena_strdup(&cli->arena, id);
	request->node_id = arena_strdup(&cli->arena, node);
	request->gone = cli->gone;
	return ask_owner_of(cli, volume, "RemoveMember", &request->base, err);
}

int cli_copy(struct cli *cli, struct error *err)
{
	const char *verb = cli->args[0], *id = cli->args[1], *node = cli->args[2];

	if (strcmp(verb, "add") == 0)
		return add(cli, id, node, err);
	if (strcmp(verb, "drop") == 0 && !cli->dry_run)
		return drop(cli, id, node, err);
	if (strcmp(verb, "drop") == 0) {
		copies_print(cli, id, node);
		return 0;
	}
	return fail(err, ERR_INVALID_ARGUMENT,
		    "'%s' is not add or drop; usage: zcsi copy add|drop VOLUME NODE", verb);
}

int cli_pause(struct cli *cli, struct error *err)
{
	PauseRequest *request = new_pause_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, cli->args[0]);
	return ask_owner(cli, cli->args[0], "Pause", &request->base, err);
}

int cli_resume(struct cli *cli, struct error *err)
{
	ResumeRequest *request = new_resume_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, cli->args[0]);
	return ask_owner(cli, cli->args[0], "Resume", &request->base, err);
}
