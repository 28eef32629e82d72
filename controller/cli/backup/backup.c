/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi backup: snapshots of a volume on another node, which pulls them from the volume's owner.
 *
 * Invariant: `add` and `run` end with 0 only after the backup has all that was written before they
 * began. If the volume is gone, `add` changes only the rules of its backup. `drop` destroys
 * snapshots only by the statement --destroy, with their number.
 */
#include <stdio.h>
#include <string.h>

#include "controller/cli/backup/kept.h"
#include "controller/cli/backup/list.h"
#include "controller/cli/backup/restore.h"
#include "controller/cli/copies.h"
#include "controller/cli/known.h"
#include "controller/cli/print/statement.h"
#include "controller/request/parameter_value.h"

static int find_node(struct cli *cli, const char *node, const struct member **ret,
		     struct error *err)
{
	*ret = fleet_node(cli->members, cli->n_members, node);
	return *ret ? 0
		    : fail(err, ERR_NOT_FOUND, "no agent that answers is that of node '%s'", node);
}

/* Take the rules of the command line; the node checks the schedule. */
static int take_rules(struct cli *cli, RunBackupRequest *to, struct error *err)
{
	if (cli->keep)
		to->keep = arena_strdup(&cli->arena, cli->keep);
	if (!cli->every)
		return 0;
	bool never = strcmp(cli->every, "never") == 0;
	to->every = never ? -1 : (int64_t)parameter_value_seconds(cli->every);
	if (to->every)
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT, "--every '%s' is not a time such as 1d, nor never",
		    cli->every);
}

/* Make a call for a backup, which does what the text says; and wait. Returns 0, or -1 with *err. */
static int ask(struct cli *cli, const struct member *member, const char *method,
	       const ProtobufCMessage *request, const char *text, struct error *err)
{
	const struct change change = {member, method, request, text};
	GetBackupTaskResponse *ignored;

	return kept_task(cli, &change, &ignored, err) < 0 ? -1 : 0;
}

/* Returns the rules of the command line, for --dry-run. */
static const char *rules_of(struct cli *cli)
{
	return arena_printf(&cli->arena, "%s%s%s%s", cli->every ? ", --every " : "",
			    cli->every ? cli->every : "", cli->keep ? ", --keep " : "",
			    cli->keep ? cli->keep : "");
}

static int run_on(struct cli *cli, const struct member *member, const struct owned *volume,
		  bool add, struct error *err)
{
	RunBackupRequest *request = new_run_backup_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, volume->id);
	request->from_node_id = arena_strdup(&cli->arena, volume->owner->node);
	request->add = add;
	if (add && take_rules(cli, request, err) < 0)
		return -1;
	return ask(cli, member, "RunBackup", &request->base,
		   arena_printf(&cli->arena,
				"%s volume '%s' on node '%s', and pull from node '%s' what it "
				"lacks%s",
				add ? "keep a backup of" : "run the backup of", volume->id,
				member->node, volume->owner->node, add ? rules_of(cli) : ""),
		   err);
}

/* Returns true if the node has a backup of the volume. */
static bool has_backup(struct cli *cli, const char *id, const struct member *member)
{
	size_t n;
	const struct kept_backup *list = kept_backups(cli, id, &n);

	for (size_t i = 0; i < n; i++)
		if (list[i].member == member)
			return true;
	return false;
}

/* Called if no agent has the volume: fail if a host that was not asked may have it. */
static int check_gone(struct cli *cli, const char *id, struct error *err)
{
	size_t n;
	const KnownHost *const *hosts = known_hosts(cli, &n);

	for (size_t i = 0; i < n; i++)
		if (!hosts[i]->forgotten && *hosts[i]->dataset && !known_listed(cli, hosts[i]))
			return fail(err, ERR_UNAVAILABLE,
				    "node '%s' may have volume '%s' and was not asked: add its "
				    "agent with --agent, or, if the node never comes back, run "
				    "'zcsi forget %s'",
				    hosts[i]->node_id, id, hosts[i]->node_id);
	return 0;
}

/* Change the rules of the backup of a volume that does not exist any more. */
static int set_rules(struct cli *cli, const char *id, const struct member *member,
		     struct error *err)
{
	RunBackupRequest *request = new_run_backup_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, id);
	request->only_rules = true;
	if (check_gone(cli, id, err) < 0 || take_rules(cli, request, err) < 0 ||
	    ask(cli, member, "RunBackup", &request->base,
		arena_printf(&cli->arena,
			     "change the rules of the backup of volume '%s' on node '%s'%s", id,
			     member->node, rules_of(cli)),
		err) < 0)
		return -1;
	if (cli->dry_run)
		return 0;
	fprintf(stderr,
		"zcsi: volume '%s' does not exist, so only the rules of its backup were changed\n",
		id);
	return 0;
}

static int add(struct cli *cli, const char *id, const char *node, struct error *err)
{
	const struct member *member = fleet_node(cli->members, cli->n_members, node);
	const struct owned *volume;

	if (cli_volume(cli, id, &volume, err) < 0)
		return err->code == ERR_NOT_FOUND && (cli->every || cli->keep) && member &&
				       has_backup(cli, id, member)
			       ? set_rules(cli, id, member, err)
			       : -1;
	if (find_node(cli, node, &member, err) < 0 ||
	    (cli->dry_run && copies_check_node(cli, volume, node, err) < 0))
		return -1;
	return run_on(cli, member, volume, true, err);
}

/* Called by for_each with each backup and the `data` of the caller. Returns 0, or -1 with *err. */
typedef int each_fn(struct cli *cli, const struct kept_backup *backup, const void *data,
		    struct error *err);

/* Call fn for the backups of a volume on all nodes, or on `node`, even if one of them fails. */
static int for_each(struct cli *cli, const char *id, const char *node, each_fn *fn,
		    const void *data, struct error *err)
{
	size_t n, fit = 0;
	const struct kept_backup *list = kept_backups(cli, id, &n);
	int failed = 0;

	for (size_t i = 0; i < n; i++) {
		const char *there = list[i].member->node;
		struct error said;
		if (node && strcmp(node, there) != 0)
			continue;
		fit++;
		if (fn(cli, &list[i], data, &said) < 0)
			failed = fail(err, said.code, "the backup on node '%s': %s", there,
				      said.text);
	}
	if (fit)
		return failed;
	return fail(err, ERR_NOT_FOUND,
		    "no node that answers has that backup of volume '%s'; add one with 'zcsi "
		    "backup add %s NODE'",
		    id, id);
}

static int run_one(struct cli *cli, const struct kept_backup *backup, const void *volume,
		   struct error *err)
{
	return run_on(cli, backup->member, volume, false, err);
}

static int run(struct cli *cli, const char *id, const char *node, struct error *err)
{
	const struct owned *volume;

	if (cli_volume(cli, id, &volume, err) < 0)
		return -1;
	return for_each(cli, id, node, run_one, volume, err);
}

static int verify_one(struct cli *cli, const struct kept_backup *backup, const void *data,
		      struct error *err)
{
	VerifyBackupRequest *request = new_verify_backup_request(&cli->arena);

	(void)data;
	request->id = backup->state->id;
	return ask(cli, backup->member, "VerifyBackup", &request->base,
		   arena_printf(&cli->arena,
				"read the newest snapshot of the backup of volume '%s' on node "
				"'%s', and record that",
				request->id, backup->member->node),
		   err);
}

static int show_one(struct cli *cli, const struct kept_backup *backup, const void *data,
		    struct error *err)
{
	(void)data;
	(void)err;
	list_kept(cli, backup, 1);
	return 0;
}

static int check_forgotten(struct cli *cli, const char *id, const char *node, struct error *err)
{
	if (check_gone(cli, id, err) == 0)
		return 0;
	return fail_context(
		err, "the backup is destroyed, but its bookmark for node '%s' may be left", node);
}

/* Destroy the backup, and then the bookmark that the volume's owner keeps for it, if any. */
static int destroy(struct cli *cli, const char *id, const struct member *member, struct error *err)
{
	DropBackupRequest *dropped = new_drop_backup_request(&cli->arena);
	ForgetBackupRequest *forgotten = new_forget_backup_request(&cli->arena);
	const struct owned *volume;

	dropped->id = forgotten->id = arena_strdup(&cli->arena, id);
	forgotten->node_id = arena_strdup(&cli->arena, member->node);
	struct reply reply =
		fleet_ask_member(cli->fleet, &cli->arena, member, "DropBackup", &dropped->base);
	*err = reply.error;
	if (!reply.response)
		return -1;
	if (cli_volume(cli, id, &volume, err) < 0)
		return err->code == ERR_NOT_FOUND
			       ? check_forgotten(cli, id, member->node, err)
			       : fail_context(err,
					      "the backup is destroyed, but the owner may keep its "
					      "bookmark for node '%s'; run the command again later",
					      member->node);
	reply = fleet_ask_member(cli->fleet, &cli->arena, volume->owner, "ForgetBackup",
				 &forgotten->base);
	*err = reply.error;
	return reply.response ? 0 : -1;
}

/* *ret is the backup on a node; its state is NULL if there is none. */
static int find_backup(struct cli *cli, const char *id, const struct member *member,
		       struct kept_backup *ret, struct error *err)
{
	ListBackupsRequest *request = new_list_backups_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, id);
	const struct reply reply =
		fleet_ask_member(cli->fleet, &cli->arena, member, "ListBackups", &request->base);
	const ListBackupsResponse *list = reply.response;
	*err = reply.error;
	if (!list)
		return -1;
	*ret = (struct kept_backup){member, list->n_backups ? list->backups[0] : NULL, list->time};
	return 0;
}

/* Destroy a backup. If it has snapshots, --destroy has to state how many. */
static int drop(struct cli *cli, const char *id, const char *node, struct error *err)
{
	struct arena *arena = &cli->arena;
	const struct member *member;
	struct kept_backup backup;

	if (find_node(cli, node, &member, err) < 0 ||
	    find_backup(cli, id, member, &backup, err) < 0)
		return -1;
	if (!backup.state || !backup.state->count)
		return destroy(cli, id, member, err);
	const struct destruction all = {.command = arena_printf(arena, "zcsi backup drop %s %s", id,
								node),
					.fact = arena_printf(arena, "the backup has %lld snapshots",
							     (long long)backup.state->count),
					.what = "all its snapshots",
					.n = (size_t)backup.state->count};
	int stated = statement_check(&all, cli->destroy, err);
	if (stated)
		return stated < 0 ? -1 : destroy(cli, id, member, err);
	list_kept(cli, &backup, 1);
	statement_ask(&all);
	cli->degraded = true;
	return 0;
}

int cli_backup(struct cli *cli, struct error *err)
{
	const char *verb = cli->args[0];
	const char *id = cli->n_args > 1 ? cli->args[1] : NULL;
	const char *node = cli->n_args > 2 ? cli->args[2] : NULL;

	if (strcmp(verb, "list") == 0 && !node) {
		list_backups(cli, id);
		return 0;
	}
	if (strcmp(verb, "add") == 0 && node)
		return add(cli, id, node, err);
	if (strcmp(verb, "run") == 0 && id)
		return run(cli, id, node, err);
	if (strcmp(verb, "verify") == 0 && id)
		return for_each(cli, id, node, verify_one, NULL, err);
	if (strcmp(verb, "restore") == 0 && id && !node)
		return restore_backup(cli, id, err);
	if (strcmp(verb, "drop") == 0 && node)
		return cli->dry_run ? for_each(cli, id, node, show_one, NULL, err)
				    : drop(cli, id, node, err);
	return fail(err, ERR_INVALID_ARGUMENT,
		    "usage: zcsi backup add VOLUME NODE, run VOLUME [NODE], list [VOLUME], verify "
		    "VOLUME [NODE], restore VOLUME[@SNAPSHOT], or drop VOLUME NODE");
}
