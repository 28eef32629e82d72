/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi copy, pause and resume: which nodes have copies of a volume, and whether they are sent what
 * is written. The owner of the volume keeps and carries out both.
 *
 * Invariant: with --dry-run nothing is asked of the owner but what it has.
 */
#include <string.h>

#include "controller/cli/copies.h"

/* Call a method of the agent that has the volume; the response is empty. */
static int ask_owner(struct cli *cli, const char *id, const char *method,
		     const ProtobufCMessage *request, struct error *err)
{
	const struct owned *volume;

	if (cli_volume(cli, id, &volume, err) < 0)
		return -1;
	const struct reply reply =
		fleet_ask_member(cli->fleet, &cli->arena, volume->owner, method, request);
	*err = reply.error;
	return reply.response ? 0 : -1;
}

static int add(struct cli *cli, const char *id, const char *node, struct error *err)
{
	AddMemberRequest *request = new_add_member_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, id);
	request->node_id = arena_strdup(&cli->arena, node);
	return ask_owner(cli, id, "AddMember", &request->base, err);
}

static int drop(struct cli *cli, const char *id, const char *node, struct error *err)
{
	RemoveMemberRequest *request = new_remove_member_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, id);
	request->node_id = arena_strdup(&cli->arena, node);
	request->gone = cli->gone;
	return ask_owner(cli, id, "RemoveMember", &request->base, err);
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
		    "'%s' is neither add nor drop: write zcsi copy add VOLUME NODE", verb);
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
