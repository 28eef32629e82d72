/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi trash empty: deleted volumes are destroyed before their time is over.
 *
 * Invariant: nothing is destroyed unless the operator states the number of volumes that can be
 * destroyed at that moment. The agent destroys a volume only if nothing needs it.
 */
#include "controller/cli/mend/empty.h"

#include <string.h>

#include "controller/cli/print/statement.h"

/* A deleted volume, and what becomes of it. */
struct waste {
	const struct owned *owned;
	bool done;
	const char *why; /* why the volume stays, or NULL */
};

struct heap {
	struct waste *rows;
	size_t n, n_free; /* n_free: how many may be destroyed */
};

/* Returns true if the volume stays in the trash without a time limit, since it has snapshots. */
static bool is_kept_for_snapshots(const TrashedDataset *entry)
{
	return !entry->until && entry->snapshots;
}

static struct heap gather(struct cli *cli, const char *name)
{
	struct heap heap;
	const struct owned *all = cli_trashed(cli, name, &heap.n);

	heap.rows = arena_alloc(&cli->arena, (heap.n + 1) * sizeof(*heap.rows));
	heap.n_free = 0;
	for (size_t i = 0; i < heap.n; i++) {
		bool kept = is_kept_for_snapshots(all[i].entry);
		heap.rows[i] = (struct waste){
			.owned = &all[i],
			.why = kept ? "its snapshots can still be restored; delete them first"
				    : NULL};
		heap.n_free += !kept;
	}
	return heap;
}

static void print(struct cli *cli, const struct heap *heap)
{
	static const struct column columns[] = {
		{"volume", CELL_TEXT}, {"node", CELL_TEXT},     {"deleted", CELL_MOMENT},
		{"used", CELL_BYTES},  {"in_trash", CELL_TEXT}, {"state", CELL_TEXT},
		{"why", CELL_TEXT},
	};
	struct cell(*cells)[COUNT(columns)] =
		arena_alloc(&cli->arena, (heap->n + 1) * sizeof(*cells));

	for (size_t i = 0; i < heap->n; i++) {
		const struct waste *each = &heap->rows[i];
		const TrashedDataset *entry = each->owned->entry;
		const struct cell row[] = {
			{.text = entry->id},
			{.text = each->owned->owner->node},
			{.number = entry->deleted ? entry->deleted : -1},
			{.number = entry->used},
			{.text = entry->leaf},
			{.text = each->done  ? "destroyed"
				 : each->why ? "stays"
					     : "to be destroyed"},
			{.text = each->why},
		};
		memcpy(cells[i], row, sizeof(row));
	}
	cli_print(cli, &(struct table){"trash", columns, COUNT(columns), *cells, heap->n, false});
}

static void destroy(struct cli *cli, struct waste *waste)
{
	DestroyTrashedDatasetRequest *request = new_destroy_trashed_dataset_request(&cli->arena);
	const TrashedDataset *entry = waste->owned->entry;

	request->id = entry->id;
	request->guid = entry->guid;
	const struct reply reply = fleet_ask_member(cli->fleet, &cli->arena, waste->owned->owner,
						    "DestroyTrashedDataset", &request->base);
	waste->done = reply.response != NULL;
	if (!waste->done)
		waste->why = arena_strdup(&cli->arena, reply.error.text);
}

static int destroy_all(struct cli *cli, struct heap *heap, struct error *err)
{
	size_t left = 0;

	for (size_t i = 0; i < heap->n; i++) {
		struct waste *each = &heap->rows[i];
		if (each->why)
			continue;
		destroy(cli, each);
		left += !each->done;
	}
	print(cli, heap);
	if (!left)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION, "%zu of %zu deleted volumes stay: see why", left,
		    heap->n_free);
}

int empty_trash(struct cli *cli, const char *name, struct error *err)
{
	struct heap heap = gather(cli, name);
	const struct destruction all = {
		.command = arena_printf(&cli->arena, "zcsi trash empty%s%s", name ? " " : "",
					name ? name : ""),
		.fact = arena_printf(&cli->arena, "there are %zu deleted volumes", heap.n_free),
		.what = "them",
		.n = heap.n_free};
	int stated = statement_check(&all, cli->destroy, err);

	if (stated > 0 && !cli->dry_run)
		return destroy_all(cli, &heap, err);
	print(cli, &heap);
	if (stated < 0 || cli->dry_run || !heap.n_free)
		return stated < 0 ? -1 : 0;
	statement_ask(&all);
	cli->degraded = true;
	return 0;
}
