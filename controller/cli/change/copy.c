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
#include "controller/cli/dry_run.h"
#include "controller/cli/print/statement.h"

static int add(struct cli *cli, const char *id, const char *node, struct error *err)
{
	AddMemberRequest *request = new_add_member_request(&cli->arena);
	const struct owned *volume;

	if (cli_volume(cli, id, &volume, err) < 0 ||
	    (cli->dry_run && copies_check_node(cli, volume, node, err) < 0))
		return -1;
	request->id = arena_strdup(&cli->arena, id);
	request->node_id = arena_strdup(&cli->arena, node);
	const struct change change = {
		volume->owner, "AddMember", &request->base,
		arena_printf(&cli->arena, "keep a copy of volume '%s' of node '%s' on node '%s'",
			     id, volume->owner->node, node)};
	return dry_run_or_send(cli, &change, err);
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
	const struct change change = {volume->owner, "RemoveMember", &request->base,
				      arena_printf(&cli->arena,
						   "destroy the copy of volume '%s' on node '%s'",
						   id, node)};
	return dry_run_or_send(cli, &change, err);
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

/* Returns the nodes of the volume's copies, as "node 'n2', node 'n3'"; NULL if it has none. */
static const char *nodes_of(struct cli *cli, const Dataset *volume)
{
	const char *nodes = NULL;

	for (size_t i = 0; i < volume->n_copies; i++)
		nodes = arena_printf(&cli->arena, "%s%snode '%s'", nodes ? nodes : "",
				     nodes ? ", " : "", volume->copies[i]->node_id);
	return nodes;
}

/* Ask the owner of the volume in the command line to pause or resume it, as `what` says. */
static int ask_owner(struct cli *cli, const char *method, const ProtobufCMessage *request,
		     const char *what, struct error *err)
{
	const char *id = cli->args[0];
	const struct owned *volume;

	if (cli_volume(cli, id, &volume, err) < 0)
		return -1;
	const char *nodes = nodes_of(cli, volume->entry);
	if (cli->dry_run && !nodes)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "volume '%s' has no copies; add one with 'zcsi copy add %s NODE'", id,
			    id);
	const struct change change = {volume->owner, method, request,
				      arena_printf(&cli->arena, "%s volume '%s' of node '%s' to %s",
						   what, id, volume->owner->node,
						   nodes ? nodes : "its copies")};
	return dry_run_or_send(cli, &change, err);
}

int cli_pause(struct cli *cli, struct error *err)
{
	PauseRequest *request = new_pause_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, cli->args[0]);
	return ask_owner(cli, "Pause", &request->base, "send nothing more of", err);
}

int cli_resume(struct cli *cli, struct error *err)
{
	ResumeRequest *request = new_resume_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, cli->args[0]);
	return ask_owner(cli, "Resume", &request->base, "send again what is written to", err);
}
