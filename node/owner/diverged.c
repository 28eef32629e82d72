/* SPDX-License-Identifier: MPL-2.0 */
/*
 * ListDiverged and DropDiverged of zcsi.v1.Copy: what this host has of volumes that another node
 * took over, and what no other node has.
 *
 * Invariant: a dataset is destroyed only by the name that a person gives, if it is directly below
 * DIVERGED_FOLDER and nothing uses it, and without force, so ZFS refuses while it has a clone or a
 * hold.
 */
#include "node/owner/diverged.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/volume/escape.h"
#include "node/attach/unused.h"
#include "node/host/asides.h"
#include "node/owner/diff.h"
#include "node/owner/split.h"
#include "node/record/ownership.h"
#include "node/replica/held.h"
#include "node/service.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

enum field { NAME, ID, OWNER, USED, CREATION, GUID, FORMAT, FIELDS };

static const char columns[] = "name,zcsi:volume,zcsi:owner,used,creation,guid,zcsi:format";

/* Returns the row of a line, or NULL for the folder itself and for a dataset that is no volume. */
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
	row->guid = strtoull(field[GUID], NULL, 10);
	/* Only a zvol has the property zcsi:format. */
	row->format =
		strcmp(field[FORMAT], "-") == 0 ? arena_strdup(arena, FORMAT_ZFS) : field[FORMAT];
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

static void keep(struct asides *asides, uint64_t reading, struct arena *arena,
		 DivergedVolume *const *rows, size_t n)
{
	const char **ids = arena_alloc(arena, (n + 1) * sizeof(*ids));

	for (size_t i = 0; i < n; i++)
		ids[i] = rows[i]->id;
	asides_put(asides, reading, ids, n);
}

static int read_all(const struct node *node, struct arena *arena, DivergedVolume ***ret,
		    size_t *ret_n, struct error *err)
{
	auto_free char *out = NULL;

	*ret = NULL;
	*ret_n = 0;
	if (!node->catalog || !held_possible())
		return 0;
	const uint64_t reading = asides_begin(node->asides);
	const char *folder = split_folder(node, arena);
	const char *argv[] = {"zfs", "list",  "-Hp",  "-d", "1", "-t", "filesystem,volume",
			      "-o",  columns, folder, NULL};
	if (zfs_run_once(&(struct exec){.argv = argv}, &out, err) == 0)
		*ret = diverged_parse(arena, folder, arena_strdup(arena, out), ret_n);
	else if (zfs_is_missing(catalog_parent(node->catalog), err) < 0)
		return -1;
	keep(node->asides, reading, arena, *ret, *ret_n);
	return 0;
}

void diverged_look(const struct node *node)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	DivergedVolume **ignored;
	struct error err;
	size_t n;

	if (node->catalog)
		diff_tidy(catalog_parent(node->catalog));
	if (read_all(node, &arena, &ignored, &n, &err) < 0 ||
	    (n && split_end(&arena, catalog_parent(node->catalog), &err) < 0))
		log_warn("cannot read the volumes put aside", log_str("error", err.text));
}

int list_diverged(struct rpc_call *call, const ListDivergedRequest *req, ListDivergedResponse *rsp,
		  struct error *err)
{
	(void)req;
	return read_all(call->app, &call->arena, &rsp->volumes, &rsp->n_volumes, err);
}

/*
 * *ret is the format of the volume with this name in `zcsi diverged list`. Returns 0, or -1 with
 * *err.
 */
static int find_format(struct rpc_call *call, const char *name, const struct format **ret,
		       struct error *err)
{
	DivergedVolume **rows;
	size_t n;

	if (read_all(call->app, &call->arena, &rows, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		*ret = format_find(rows[i]->format);
		if (strcmp(rows[i]->name, name) == 0 && *ret)
			return 0;
	}
	return fail(err, ERR_NOT_FOUND, "it is not in 'zcsi diverged list'");
}

static int destroy(struct rpc_call *call, const char *name, struct error *err)
{
	struct dataset dataset = {.name = (char *)name};
	const char *snapshots = arena_printf(&call->arena, "%s@%%", name);

	if (find_format(call, strrchr(name, '/') + 1, &dataset.format, err) < 0 ||
	    unused_check(&call->arena, &dataset, err) < 0)
		return -1;
	if (zfs_destroy(snapshots, err) < 0 && err->code != ERR_NOT_FOUND)
		return -1;
	return zfs_destroy(name, err);
}

int drop_diverged(struct rpc_call *call, const DropDivergedRequest *req, DropDivergedResponse *rsp,
		  struct error *err)
{
	const char *name;

	(void)rsp;
	if (node_need_pool(call, "volume put aside as", req->name, err) < 0 ||
	    split_dataset(call->app, &call->arena, req->name, &name, err) < 0)
		return -1;
	if (destroy(call, name, err) < 0)
		return fail_context(err, "'%s' is not destroyed", name);
	log_warn("data put aside is destroyed", log_str("dataset", name), log_str("by", req->by));
	diverged_look(call->app);
	return 0;
}
