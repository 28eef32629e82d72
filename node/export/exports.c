/* SPDX-License-Identifier: MPL-2.0 */
/*
 * NFS exports, as the records of the volumes (zcsi:published) require them. See exports.h.
 *
 * Invariant: the exports follow from the records alone. One change runs at a time; exports_heal is
 * one change. A call changes the record of a volume first and applies it afterwards, so the last
 * exports_apply of a volume uses its last record. A backend carries the changes out
 * (node/export/backend.h).
 */
#include "node/export/exports.h"

#include <pthread.h>
#include <stdio.h>

#include "common/log.h"
#include "node/catalog/change.h"
#include "node/export/backend.h"
#include "node/export/exports_inside.h"
#include "node/host/owner.h"
#include "node/record/publication.h"
#include "node/record/share.h"
#include "node/zfs/ssh.h"

#define PAGE 1000
#define KEY  "exports" /* for catalog_lock_key: one change runs at a time */

static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER; /* held in exports_look */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;   /* protects refusal */
static char refusal[ERROR_TEXT_MAX];

static const struct export_backend *way(void)
{
	return ssh_server() ? &export_over_ssh : &export_local;
}

const char *exports_mountpoint(struct arena *arena, const char *dataset)
{
	return way()->mountpoint(arena, dataset);
}

int exports_check(const struct node *node, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};

	if (!*node_address(node, &arena))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "node '%s' has no address to export volumes from; start its zcsi-node "
			    "with --address",
			    node->id);
	return way()->check(node, err);
}

static void keep_refusal(const char *text)
{
	scoped_lock(&mutex);

	snprintf(refusal, sizeof(refusal), "%s", text);
}

void exports_look(const struct node *node)
{
	struct error err;

	/*
	 * Do not wait: reading the kernel's files about the NFS server blocks while its stop hangs.
	 */
	if (pthread_mutex_trylock(&looking))
		return;
	keep_refusal(exports_check(node, &err) < 0 ? err.text : "");
	pthread_mutex_unlock(&looking);
}

char *exports_refusal(struct arena *arena)
{
	scoped_lock(&mutex);

	return arena_strdup(arena, refusal);
}

/* Returns the exports that a volume is to have: none if another node took it over, or may have. */
static struct export_table rows_of(struct arena *arena, const struct node *node,
				   const struct dataset *dataset)
{
	struct publication_list published;
	struct error ignored;
	bool ours = owner_check(node, dataset, &ignored) == 0;

	publication_parse(arena, ours ? dataset->published : "", &published);
	struct export_table rows = {
		.rows = arena_alloc(arena, (published.n + 1) * sizeof(*rows.rows))};
	for (size_t i = 0; i < published.n; i++) {
		const struct publication *one = &published.rows[i];
		if (*one->address)
			rows.rows[rows.n++] = (struct export_row){
				.path = share_path(arena, dataset->name),
				.client = one->address,
				.readonly = !publication_writes(one),
			};
	}
	return rows;
}

int exports_apply(struct arena *arena, const struct node *node, const struct dataset *dataset,
		  int64_t deadline, struct error *err)
{
	const struct export_table rows = rows_of(arena, node, dataset);

	if (catalog_lock_key(node->catalog, deadline, KEY, err) < 0)
		return -1;
	int failed = way()->apply(arena, node, dataset, &rows, err);
	catalog_unlock_key(node->catalog, KEY);
	return failed;
}

int exports_each(struct arena *arena, const struct node *node,
		 void (*fn)(void *arg, const struct dataset *dataset,
			    const struct export_table *rows),
		 void *arg)
{
	char after[DATASET_ID_MAX + 1] = "";
	struct dataset_list page;
	struct error err;
	bool more = true;
	int failed = 0;

	while (more && !failed) {
		auto_arena struct arena own = {.cap = SIZE_MAX};
		failed = catalog_page(node->catalog, now_ms(), &own, after, PAGE, &page, &more,
				      &err);
		for (size_t i = 0; !failed && i < page.n; i++) {
			const struct export_table rows = rows_of(arena, node, page.rows[i]);
			snprintf(after, sizeof(after), "%s", page.rows[i]->id);
			fn(arg, page.rows[i], &rows);
		}
	}
	return failed;
}

void exports_warn(const char *dataset, const struct error *err)
{
	log_warn("export differs from its record", log_str("dataset", dataset),
		 log_str("error", err->text));
}

void exports_heal(struct node *node)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct error err;

	exports_look(node);
	if (catalog_lock_key(node->catalog, now_ms() + CATALOG_WAIT_MS, KEY, &err) < 0) {
		log_warn("cannot compare the exports with the records", log_str("error", err.text));
		return;
	}
	way()->heal(&arena, node);
	catalog_unlock_key(node->catalog, KEY);
}
