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
#include "node/zfs/zfs_table.h"

static const char properties[] = "zcsi:volume,zcsi:owner,used,creation,guid,zcsi:format";

/* Returns the dataset as an answer, or NULL for the folder itself and for what is no volume. */
static DivergedVolume *parse_row(struct arena *arena, const char *folder,
				 const struct zfs_fields *fields)
{
	const char *text = zfs_fields_text(fields, "zcsi:volume");
	const char *owner = zfs_fields_text(fields, "zcsi:owner");
	const char *id = unescape_text(arena, text);
	size_t length = strlen(folder);

	if (!id || !*id || strncmp(fields->name, folder, length) != 0 ||
	    fields->name[length] != '/')
		return NULL;
	DivergedVolume *row = new_diverged_volume(arena);
	row->id = (char *)id;
	row->name = (char *)fields->name + length + 1;
	row->owner_node_id = (char *)ownership_parse(arena, owner).newer;
	row->used = strtoll(zfs_fields_text(fields, "used"), NULL, 10);
	row->creation = strtoll(zfs_fields_text(fields, "creation"), NULL, 10);
	row->guid = strtoull(zfs_fields_text(fields, "guid"), NULL, 10);
	row->format = zfs_fields_text(fields, "zcsi:format");
	/* Only a zvol has the property zcsi:format. */
	if (!*row->format)
		row->format = arena_strdup(arena, FORMAT_ZFS);
	return row;
}

DivergedVolume **diverged_parse(struct arena *arena, const char *folder,
				const struct zfs_table *table, size_t *ret_n)
{
	DivergedVolume **rows = arena_alloc(arena, (table->n + 1) * sizeof(*rows));

	*ret_n = 0;
	for (size_t i = 0; i < table->n; i++)
		if ((rows[*ret_n] = parse_row(arena, folder, &table->rows[i])))
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
	struct zfs_table table;

	*ret = NULL;
	*ret_n = 0;
	if (!node->catalog || !held_possible())
		return 0;
	const uint64_t reading = asides_begin(node->asides);
	const char *folder = split_folder(node, arena);
	const struct zfs_query query = {.words = (const char *const[]){"-d", "1", "-t",
								       "filesystem,volume", NULL},
					.properties = properties,
					.names = (const char *const[]){folder, NULL}};
	if (zfs_table_read(arena, &query, &table, err) < 0) {
		if (zfs_is_missing(catalog_parent(node->catalog), err) < 0)
			return -1;
		table.n = 0;
	}
	zfs_table_warn(&table, "data put aside with a damaged property is left out of the list");
	*ret = diverged_parse(arena, folder, &table, ret_n);
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
