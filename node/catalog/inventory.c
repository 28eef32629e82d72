/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The holdings: seven indexes over two kinds of rows.
 *
 * Invariant: each snapshot of `snapshots` has a dataset, and is in `taken`, in `names` when CSI
 * named it and in `groups` when it has a group; nothing else is there. Of two snapshots with one
 * id (a deleted volume and its successor, both snapshotted by another tool) the living volume's is
 * known and the other waits in the trash for a person.
 */
#include "node/catalog/inventory.h"

#include <stdlib.h>
#include <string.h>

void holdings_init(struct holdings *holdings)
{
	*holdings = (struct holdings){
		.datasets = INDEX_BY(struct dataset, id),
		.living = INDEX_BY(struct dataset, name),
		.trashed = INDEX_BY(struct dataset, name),
		.snapshots = INDEX_BY(struct snapshot, id),
		.taken = INDEX_BY(struct snapshot, zfs_name),
		.names = INDEX_BY_BOTH(struct snapshot, name, id),
		.groups = INDEX_BY_BOTH(struct snapshot, group, id),
	};
}

void holdings_fini(struct holdings *holdings)
{
	struct index *owners[] = {&holdings->datasets, &holdings->trashed, &holdings->snapshots};

	for (size_t i = 0; i < COUNT(owners); i++) {
		for (size_t k = 0; k < owners[i]->n; k++)
			free(owners[i]->rows[k]);
		index_fini(owners[i]);
	}
	index_fini(&holdings->living);
	index_fini(&holdings->taken);
	index_fini(&holdings->names);
	index_fini(&holdings->groups);
}

void holdings_put_dataset(struct holdings *holdings, const char *parent,
			  const struct dataset *dataset)
{
	struct dataset *row = dataset_dup(dataset);

	if (dataset_is_trash(parent, dataset->name)) {
		free(index_put(&holdings->trashed, row));
		return;
	}
	struct dataset *old = index_put(&holdings->datasets, row);
	if (old)
		index_take(&holdings->living, old);
	index_put(&holdings->living, row);
	free(old);
}

/* A group's snapshots share its name, and CreateSnapshot may use it too. */
static struct index *second_index(struct holdings *holdings, const struct snapshot *snapshot)
{
	if (*snapshot->group)
		return &holdings->groups;
	return *snapshot->name ? &holdings->names : NULL;
}

static void forget(struct holdings *holdings, struct snapshot *snapshot)
{
	struct index *second = second_index(holdings, snapshot);

	if (second)
		index_take(second, snapshot);
	index_take(&holdings->taken, snapshot);
	free(snapshot);
}

/* Among those of one id: a living volume's, then the younger. */
static bool yields(const char *parent, const struct snapshot *one, const struct snapshot *other)
{
	bool in_trash = dataset_is_trash(parent, one->zfs_name);

	if (!strcmp(one->zfs_name, other->zfs_name))
		return false;
	if (in_trash != dataset_is_trash(parent, other->zfs_name))
		return in_trash;
	return one->creation < other->creation;
}

void holdings_put_snapshot(struct holdings *holdings, const char *parent,
			   const struct snapshot *snapshot)
{
	struct snapshot *old = index_get(&holdings->snapshots, snapshot->id);

	if (!holdings_owner(holdings, snapshot) || (old && yields(parent, snapshot, old)))
		return;
	struct snapshot *row = snapshot_dup(snapshot);
	index_put(&holdings->snapshots, row);
	if (old)
		forget(holdings, old);
	struct index *second = second_index(holdings, row);
	if (second)
		index_put(second, row);
	index_put(&holdings->taken, row);
}

static struct dataset *dataset_at(const struct holdings *holdings, const char *zfs_name)
{
	struct dataset *living = index_get(&holdings->living, zfs_name);

	return living ? living : index_get(&holdings->trashed, zfs_name);
}

static struct dataset *owner_of(const struct holdings *holdings, const struct snapshot *snapshot)
{
	size_t length = strcspn(snapshot->zfs_name, "@");
	char name[DATASET_NAME_MAX + 1];

	if (length >= sizeof(name))
		return NULL;
	*stpncpy(name, snapshot->zfs_name, length) = '\0';
	return dataset_at(holdings, name);
}

/* A deleted volume is reaped when it has none left. */
static void drop_snapshot(struct holdings *holdings, struct snapshot *snapshot)
{
	struct dataset *owner = owner_of(holdings, snapshot);

	if (owner && owner->snapshots)
		owner->snapshots--;
	index_take(&holdings->snapshots, snapshot);
	forget(holdings, snapshot);
}

/* Where those of a dataset begin: they stand together. */
static size_t taken_from(const struct holdings *holdings, const char *zfs_name)
{
	char beginning[DATASET_NAME_MAX + 2] = "";

	if (strlen(zfs_name) > DATASET_NAME_MAX)
		return holdings->taken.n;
	stpcpy(stpcpy(beginning, zfs_name), "@");
	return index_from(&holdings->taken, beginning, beginning);
}

/* The one at this place in `taken`, if it is of this dataset. */
static struct snapshot *taken_at(const struct holdings *holdings, size_t at, const char *zfs_name)
{
	struct snapshot *row = at < holdings->taken.n ? holdings->taken.rows[at] : NULL;

	return row && snapshot_is_of(row, zfs_name) ? row : NULL;
}

void holdings_drop(struct holdings *holdings, const char *zfs_name)
{
	struct snapshot *snapshot = index_get(&holdings->taken, zfs_name);
	struct dataset *dataset = dataset_at(holdings, zfs_name);

	if (snapshot)
		drop_snapshot(holdings, snapshot);
	if (!dataset)
		return;
	size_t from = taken_from(holdings, zfs_name);
	while ((snapshot = taken_at(holdings, from, zfs_name)))
		drop_snapshot(holdings, snapshot);
	if (index_take(&holdings->living, dataset))
		index_take(&holdings->datasets, dataset);
	else
		index_take(&holdings->trashed, dataset);
	free(dataset);
}

static void fill(struct index *index, struct dataset **rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		index_append(index, dataset_dup(rows[i]));
	index_sort(index);
}

static void fill_living(struct holdings *holdings)
{
	for (size_t i = 0; i < holdings->datasets.n; i++)
		index_append(&holdings->living, holdings->datasets.rows[i]);
	index_sort(&holdings->living);
}

/* The snapshots again, in other orders. */
static void fill_others(struct holdings *holdings)
{
	struct index *const others[] = {&holdings->taken, &holdings->names, &holdings->groups};

	for (size_t i = 0; i < holdings->snapshots.n; i++) {
		struct snapshot *row = holdings->snapshots.rows[i];
		struct index *second = second_index(holdings, row);
		if (second)
			index_append(second, row);
		index_append(&holdings->taken, row);
	}
	for (size_t i = 0; i < COUNT(others); i++)
		index_sort(others[i]);
}

/* Those of one id follow one another. */
static void append_snapshot(struct holdings *holdings, const char *parent,
			    const struct snapshot *snapshot)
{
	struct index *all = &holdings->snapshots;
	struct snapshot *last = all->n ? all->rows[all->n - 1] : NULL;

	if (!holdings_owner(holdings, snapshot))
		return;
	if (last && !strcmp(last->id, snapshot->id)) {
		if (yields(parent, snapshot, last))
			return;
		free(last);
		all->n--;
	}
	index_append(all, snapshot_dup(snapshot));
}

/* Rows come in ZFS's order, which is no order of ids: sorted once here, and then put at the end. */
void holdings_fill(struct holdings *holdings, const char *parent, struct reading *reading)
{
	struct index sorted = INDEX_BY(struct snapshot, id);

	fill(&holdings->datasets, reading->datasets, reading->n_datasets);
	fill(&holdings->trashed, reading->trashed, reading->n_trashed);
	fill_living(holdings);
	for (size_t i = 0; i < reading->n_snapshots; i++)
		index_append(&sorted, reading->snapshots[i]);
	index_sort(&sorted);
	for (size_t i = 0; i < sorted.n; i++)
		append_snapshot(holdings, parent, sorted.rows[i]);
	index_fini(&sorted);
	fill_others(holdings);
}

const struct dataset *holdings_dataset(const struct holdings *holdings, const char *zfs_name)
{
	return dataset_at(holdings, zfs_name);
}

void holdings_snapshots_of(const struct holdings *holdings, struct arena *arena,
			   const char *zfs_name, struct snapshot_list *ret)
{
	size_t from = taken_from(holdings, zfs_name), n = 0;

	while (taken_at(holdings, from + n, zfs_name))
		n++;
	*ret = (struct snapshot_list){.n = n};
	ret->rows = arena_alloc(arena, (n + 1) * sizeof(*ret->rows));
	for (size_t i = 0; i < n; i++)
		ret->rows[i] = snapshot_copy(arena, holdings->taken.rows[from + i]);
}

const struct snapshot *holdings_named(const struct holdings *holdings, const char *name)
{
	size_t at = index_from(&holdings->names, name, "");
	const struct snapshot *found = at < holdings->names.n ? holdings->names.rows[at] : NULL;

	return found && !strcmp(found->name, name) ? found : NULL;
}

void holdings_group(const struct holdings *holdings, struct arena *arena, const char *group,
		    struct snapshot_list *ret)
{
	const struct index *groups = &holdings->groups;
	size_t from = index_from(groups, group, ""), end = from;

	while (end < groups->n && !strcmp(((struct snapshot *)groups->rows[end])->group, group))
		end++;
	*ret = (struct snapshot_list){.n = end - from};
	ret->rows = arena_alloc(arena, (ret->n + 1) * sizeof(*ret->rows));
	for (size_t i = 0; i < ret->n; i++)
		ret->rows[i] = holdings_show(holdings, arena, groups->rows[from + i]);
}

const struct dataset *holdings_owner(const struct holdings *holdings,
				     const struct snapshot *snapshot)
{
	return owner_of(holdings, snapshot);
}

struct snapshot *holdings_show(const struct holdings *holdings, struct arena *arena,
			       const struct snapshot *snapshot)
{
	struct snapshot *shown = snapshot_copy(arena, snapshot);
	const struct dataset *owner = holdings_owner(holdings, snapshot);

	shown->dataset_guid = owner ? owner->guid : 0;
	shown->format = owner ? owner->format : NULL;
	if (!shown->size && owner)
		shown->size = owner->size;
	return shown;
}
