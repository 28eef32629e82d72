/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi snapshot: take a snapshot of a volume, as CreateSnapshot does, or destroy a snapshot.
 * snapshot_find.c finds one by its name, and snapshot_mount.c mounts one.
 *
 * Invariant: the name of a snapshot is unique in the cluster, so a name on the command line is
 * claimed (claim.h). A name that zcsi makes of the time and a random number is unique without a
 * claim, so it can be taken while other hosts are down.
 */
#include "controller/cli/change/snapshot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "controller/cli/change/snapshot_find.h"
#include "controller/cli/change/snapshot_mount.h"
#include "controller/cli/claim.h"
#include "controller/cli/dry_run.h"
#include "controller/request/field.h"

/* The snapshot that is to be taken. */
struct shot {
	struct cli *cli;
	const struct owned *volume;
	DatasetSnapshot **taken; /* also one that was there before */
};

/* Take a snapshot. With --dry-run *ret stays as it is. */
static int take(struct cli *cli, const struct owned *volume, const char *name, uint64_t claim,
		DatasetSnapshot **ret, struct error *err)
{
	SnapshotDatasetRequest *request = new_snapshot_dataset_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, volume->id);
	request->name = arena_strdup(&cli->arena, name);
	request->claim = claim;
	const struct change change = {volume->owner, "SnapshotDataset", &request->base,
				      arena_printf(&cli->arena,
						   "take snapshot '%s' of volume '%s' on node '%s'",
						   name, volume->id, volume->owner->node)};
	SnapshotDatasetResponse *response;
	int asked = dry_run_or_ask(cli, &change, &response, err);
	if (asked <= 0)
		return asked;
	*ret = response->snapshot;
	return *ret ? 0 : fail(err, ERR_INTERNAL, "the answer lacks snapshot '%s'", name);
}

static void print(struct cli *cli, const struct member *owner, const DatasetSnapshot *snapshot)
{
	const struct owned one = {.owner = owner, .entry = snapshot, .id = snapshot->id};
	const struct table table = cli_snapshot_table(cli, &one, 1);

	table_print(stdout, &table, &cli->style, NULL, 0);
}

static int take_claimed(const struct naming *naming, uint64_t claim, struct error *err)
{
	const struct shot *shot = naming->arg;

	if (shot->cli->dry_run && *shot->taken)
		return 0;
	return take(shot->cli, shot->volume, naming->name, claim, shot->taken, err);
}

/* Fail if another volume has a snapshot of this name. This volume's agent compares its own. */
static int check_other(const struct naming *naming, const struct member *member,
		       const void *response, struct error *err)
{
	DatasetSnapshot *found = ((const GetDatasetSnapshotResponse *)response)->snapshot;
	const struct shot *shot = naming->arg;

	if (!found)
		return 0;
	if (member == naming->place && !*found->group &&
	    strcmp(found->dataset_id, shot->volume->id) == 0) {
		*shot->taken = found;
		return 0;
	}
	return fail(err, ERR_ALREADY_EXISTS,
		    "snapshot '%s' exists, of volume '%s' on node '%s': choose another name, since "
		    "it must be unique in the cluster",
		    naming->name, found->dataset_id, member->node);
}

static int take_named(const struct shot *shot, const char *name, struct error *err)
{
	struct cli *cli = shot->cli;
	GetDatasetSnapshotRequest *request = new_get_dataset_snapshot_request(&cli->arena);
	const struct naming naming = {.cli = cli,
				      .kind = "snapshot",
				      .name = name,
				      .place = shot->volume->owner,
				      .method = "GetDatasetSnapshot",
				      .request = &request->base,
				      .claim = &request->claim,
				      .target = &request->target,
				      .promised = offsetof(GetDatasetSnapshotResponse, promised),
				      .check = check_other,
				      .make = take_claimed,
				      .arg = shot};

	if (field_check_name("NAME", name, err) < 0)
		return -1;
	request->name = arena_strdup(&cli->arena, name);
	if (claim_make(&naming, err) == 0)
		return 0;
	if (err->code == ERR_UNAVAILABLE)
		fail_context(err,
			     "snapshot '%s' is not taken; without NAME zcsi chooses one, which "
			     "needs no other agent",
			     name);
	return -1;
}

int snapshot_take_new(struct cli *cli, const struct owned *volume, const char *prefix,
		      DatasetSnapshot **ret, struct error *err)
{
	char text[sizeof("2026-01-31_12.00.00")];
	time_t now = time(NULL);
	struct tm utc;

	if (!strftime(text, sizeof(text), "%Y-%m-%d_%H.%M.%S", gmtime_r(&now, &utc)))
		abort();
	const char *name =
		arena_printf(&cli->arena, "%s-%s-%08" PRIx32, prefix, text, arc4random());
	return take(cli, volume, name, 0, ret, err);
}

static int take_snapshot(struct cli *cli, struct error *err)
{
	DatasetSnapshot *taken = NULL;
	struct shot shot = {.cli = cli, .taken = &taken};

	if (cli_volume(cli, cli->args[0], &shot.volume, err) < 0)
		return -1;
	int failed = cli->n_args > 1 ? take_named(&shot, cli->args[1], err)
				     : snapshot_take_new(cli, shot.volume, "zcsi", &taken, err);
	if (failed)
		return -1;
	if (taken)
		print(cli, shot.volume->owner, taken);
	return 0;
}

/* Destroying a snapshot: zcsi snapshot --drop */

static int drop_snapshot(struct cli *cli, struct error *err)
{
	DestroyDatasetSnapshotRequest *request = new_destroy_dataset_snapshot_request(&cli->arena);
	const DatasetSnapshot *snapshot;
	const struct member *owner;

	if (snapshot_find(cli, cli->args[0], &owner, &snapshot, err) < 0)
		return -1;
	if (cli->dry_run && !*snapshot->name)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "snapshot '%s' would stay, since another tool or a schedule took it",
			    snapshot->id);
	request->id = arena_strdup(&cli->arena, cli->args[0]);
	const struct change change = {
		owner, "DestroyDatasetSnapshot", &request->base,
		arena_printf(&cli->arena, "destroy snapshot '%s' of volume '%s' on node '%s'",
			     snapshot->id, snapshot->dataset_id, owner->node)};
	return dry_run_or_send(cli, &change, err);
}

int cli_snapshot(struct cli *cli, struct error *err)
{
	bool mount = cli->n_args == 3 && strcmp(cli->args[0], "mount") == 0;

	if (cli->drop && cli->n_args == 1)
		return drop_snapshot(cli, err);
	if (cli->drop || cli->node || (cli->n_args == 3 && !mount))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "usage: zcsi snapshot VOLUME [NAME], zcsi snapshot SNAPSHOT --drop, or "
			    "zcsi snapshot mount SNAPSHOT DIR");
	return mount ? snapshot_mount(cli, cli->args[1], cli->args[2], err)
		     : take_snapshot(cli, err);
}
