/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi unpublish: the end of a publication that the orchestrator has forgotten.
 *
 * Invariant: a publication ends only if its node answers that the volume is not mounted there, if
 * --force states that a node that does not answer is off, or if no node can use the volume by the
 * publication. A volume that is mounted on a node that answers stays attached.
 */
#include <string.h>

#include "controller/cli/dry_run.h"

/* The node id of a publication that the agent cannot read. */
#define UNREADABLE "?"

static bool is_unreadable(const Publication *publication)
{
	return strcmp(publication->node_id, UNREADABLE) == 0;
}

/* A publication that is to end. */
struct ending {
	const struct owned *volume;
	const Publication *publication;
};

/* Returns the nodes of the volume's publications, or "no node". */
static const char *nodes_of(struct arena *arena, const Dataset *volume)
{
	const char *nodes = NULL;

	for (size_t i = 0; i < volume->n_published; i++)
		nodes = arena_printf(arena, "%s%snode '%s'", nodes ? nodes : "", nodes ? ", " : "",
				     volume->published[i]->node_id);
	return nodes ? nodes : "no node";
}

/* Returns the publication to a node, or the only one if `node` is NULL; NULL with *err. */
static const Publication *find(struct cli *cli, const Dataset *volume, const char *node,
			       struct error *err)
{
	if (!node && volume->n_published == 1)
		return volume->published[0];
	for (size_t i = 0; node && i < volume->n_published; i++)
		if (strcmp(volume->published[i]->node_id, node) == 0)
			return volume->published[i];
	fail(err, volume->n_published ? ERR_FAILED_PRECONDITION : ERR_NOT_FOUND,
	     "volume '%s' is attached to %s%s", volume->id, nodes_of(&cli->arena, volume),
	     !volume->n_published ? ""
	     : node               ? ", and to no other"
				  : ": name the one that does not use it");
	return NULL;
}

/*
 * Returns true if no node can use the volume by this publication: it is a local one, of a node that
 * had the volume before, and another node has it now.
 */
static bool is_void(const struct ending *ending)
{
	const Publication *publication = ending->publication;

	return !*publication->address && !is_unreadable(publication) &&
	       strcmp(publication->node_id, ending->volume->owner->node) != 0;
}

static int fail_silent(struct cli *cli, const struct ending *ending, struct error *err)
{
	const char *id = ending->volume->id, *node = ending->publication->node_id;

	if (is_unreadable(ending->publication))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "nothing was done, since the property zcsi:published of volume '%s' "
			    "cannot be read: if no job uses the volume on any node, run 'zcsi "
			    "unpublish %s --force'",
			    id, id);
	for (size_t i = 0; i < cli->n_members; i++)
		if (!cli->members[i].host)
			return fail(err, ERR_UNAVAILABLE,
				    "nothing was done, since node '%s' did not report whether it "
				    "uses volume '%s': if it is off, run 'zcsi unpublish %s %s "
				    "--force'",
				    node, id, id, node);
	return fail(err, ERR_UNAVAILABLE,
		    "nothing was done, since no agent that was asked is that of node '%s', which "
		    "may use volume '%s': give its agent too; if the node is off, run 'zcsi "
		    "unpublish %s %s --force'",
		    node, id, id, node);
}

/* Check that the node, which answers, has not mounted the volume. */
static int check_use(struct cli *cli, const struct ending *ending, const struct member *member,
		     struct error *err)
{
	GetDatasetUseRequest *request = new_get_dataset_use_request(&cli->arena);
	const Dataset *volume = ending->volume->entry;

	request->id = volume->id;
	request->name = volume->name;
	const struct reply reply =
		fleet_ask_member(cli->fleet, &cli->arena, member, "GetDatasetUse", &request->base);
	const GetDatasetUseResponse *use = reply.response;
	*err = reply.error;
	if (!use)
		return fail_context(err, "node '%s' did not report whether it uses volume '%s'",
				    member->node, volume->id);
	if (!use->n_paths)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "volume '%s' stays attached to node '%s', since it is mounted there at '%s': "
		    "stop the job that uses it first",
		    volume->id, member->node, use->paths[0]);
}

static int check(struct cli *cli, const struct ending *ending, struct error *err)
{
	const char *node = ending->publication->node_id;
	const struct member *member = fleet_node(cli->members, cli->n_members, node);

	if (is_void(ending))
		return 0;
	if (member)
		return check_use(cli, ending, member, err);
	if (!cli->force)
		return fail_silent(cli, ending, err);
	/* A publication that cannot be read may be one of the node that has the volume. */
	return is_unreadable(ending->publication)
		       ? check_use(cli, ending, ending->volume->owner, err)
		       : 0;
}

int cli_unpublish(struct cli *cli, struct error *err)
{
	UnpublishDatasetRequest *request = new_unpublish_dataset_request(&cli->arena);
	struct ending ending;

	if (cli_volume(cli, cli->args[0], &ending.volume, err) < 0)
		return -1;
	ending.publication =
		find(cli, ending.volume->entry, cli->n_args > 1 ? cli->args[1] : NULL, err);
	if (!ending.publication || check(cli, &ending, err) < 0)
		return -1;
	request->id = arena_strdup(&cli->arena, ending.volume->id);
	request->node_id = ending.publication->node_id;
	request->unused = true;
	const struct change change = {ending.volume->owner, "UnpublishDataset", &request->base,
				      arena_printf(&cli->arena, "detach volume '%s' from node '%s'",
						   request->id, request->node_id)};
	return dry_run_or_send(cli, &change, err);
}
