/* SPDX-License-Identifier: MPL-2.0 */
/*
 * ListDiverged and DropDiverged of zcsi.v1.Copy: what this host has of volumes that another node
 * took over, and what no other node has.
 *
 * Invariant: a dataset is destroyed only by the name that a person gives, if it is directly below
 * ASIDE_FOLDER, nothing uses it, and without force, so ZFS refuses while it has a clone or a hold.
 */
#include "node/owner/diverged.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/volume/escape.h"
#include "node/attach/unused.h"
#include "node/host/node.h"
#include "node/owner/aside.h"
#include "node/record/ownership.h"
#include "node/replica/held.h"
#include "node/service.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

enum field { NAME, ID, OWNER, USED, CREATION, FIELDS };

static const char columns[] = "name,zcsi:volume,zcsi:owner,used,creation";

static char *folder_of(struct rpc_call *call)
{
	const struct node *node = call->app;

	return arena_printf(&call->arena, "%s/" ASIDE_FOLDER, catalog_parent(node->catalog));
}

/* Returns the row of a line, or NULL for the folder itself and what is no volume. */
static DivergedVolume *parse_line(struct arena *arena, const char *folder, char *line)
{
	size_t length = strlen(folder), n = 0;
	char *field[FIELDS];

	while (n < FIELDS && (field[n] = strsep(&line, "\t")))
		n++;
	if (n < FIELDS || line || strncmp(field[NAME], folder, length) != 0 ||
	    field[NAME][length] != '/')
		return NULL;
	const char *id = unescape_text(arena, field[ID]);
	if (!id || strcmp(field[ID], "-") == 0)
		return NULL;
	DivergedVolume *row = new_diverged_volume(arena);
	row->id = (char *)id;
	row->name = field[NAME] + length + 1;
	row->owner_node_id = (char *)ownership_parse(arena, field[OWNER]).newer;
	row->used = strtoll(field[USED], NULL, 10);
	row->creation = strtoll(field[CREATION], NULL, 10);
	return row;
}

DivergedVolume **diverged_parse(struct arena *arena, const char *folder, char *text, size_t *ret_n)
{
	size_t most = 1;
	char *state;

	for (const char *at = text; *at; at++)
		most += *at == '\n';
	DivergedVolume **rows = arena_alloc(arena, most * sizeof(*rows));
	*ret_n = 0;
	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
		if ((rows[*ret_n] = parse_line(arena, folder, line)))
			++*ret_n;
	return rows;
}

int list_diverged(struct rpc_call *call, const ListDivergedRequest *req, ListDivergedResponse *rsp,
		  struct error *err)
{
	const struct node *node = call->app;
	auto_free char *out = NULL;

	(void)req;
	if (!node->catalog || !held_possible())
		return 0;
	const char *folder = folder_of(call);
	const char *argv[] = {"zfs", "list",  "-Hp",  "-d", "1", "-t", "filesystem,volume",
			      "-o",  columns, folder, NULL};
	if (zfs_run_once(&(struct exec){.argv = argv}, &out, err) < 0)
		return zfs_is_missing(catalog_parent(node->catalog), err);
	rsp->volumes = diverged_parse(&call->arena, folder, arena_strdup(&call->arena, out),
				      &rsp->n_volumes);
	return 0;
}

static int destroy(struct rpc_call *call, const char *name, struct error *err)
{
	const struct dataset dataset = {.name = (char *)name, .format = format_find(FORMAT_ZFS)};
	const char *snapshots = arena_printf(&call->arena, "%s@%%", name);

	if (unused_check(&call->arena, &dataset, err) < 0)
		return -1;
	if (zfs_destroy(snapshots, err) < 0 && err->code != ERR_NOT_FOUND)
		return -1;
	return zfs_destroy(name, err);
}

int drop_diverged(struct rpc_call *call, const DropDivergedRequest *req, DropDivergedResponse *rsp,
		  struct error *err)
{
	(void)rsp;
	if (request_text(req->name, "name", err) < 0 ||
	    node_need_pool(call, "volume put aside as", req->name, err) < 0)
		return -1;
	if (strpbrk(req->name, "/@#%,"))
		return fail(err, ERR_INVALID_ARGUMENT, "'%s' is no name of 'zcsi diverged list'",
			    req->name);
	const char *name = arena_printf(&call->arena, "%s/%s", folder_of(call), req->name);
	if (destroy(call, name, err) < 0)
		return fail_context(err, "'%s' is not destroyed", name);
	log_warn("what only this host had of a volume is destroyed", log_str("dataset", name),
		 log_str("by", req->by));
	return 0;
}
