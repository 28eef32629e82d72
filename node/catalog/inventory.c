/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The inventory: seven indexes of volumes and snapshots, and one of damaged names.
 *
 * Invariant: each snapshot in `snapshots` has a dataset in the inventory. It is also in
 * `snapshots_by_name`, and in `groups` if it has a group, else in `names` if CSI created it. Two
 * snapshots may have the same id if another tool made them of a deleted volume and of a new volume
 * with its id. Then only the new volume's is in the inventory; an operator has to destroy one.
 */
#include "node/catalog/inventory.h"

#include <stdlib.h>
#include <string.h>

/* A name that is neither a volume nor a snapshot, because zcsi cannot read its properties. */
struct damaged {
	char *name;
};

void inventory_init(struct inventory *inventory)
{
	*inventory = (struct inventory){
		.datasets = INDEX_BY(struct dataset, id),
		.datasets_by_name = INDEX_BY(struct dataset, name),
		.trashed = INDEX_BY(struct dataset, name),
		.snapshots = INDEX_BY(struct snapshot, id),
		.snapshots_by_name = INDEX_BY(struct snapshot, zfs_name),
		.names = INDEX_BY_BOTH(struct snapshot, name, id),
		.groups = INDEX_BY_BOTH(struct snapshot, group, id),
		.damaged = INDEX_BY(struct damaged, name),
	};
}

void inventory_fini(struct inventory *inventory)
{
	struct index *owners[] = {&inventory->datasets, &inventory->trashed, &inventory->snapshots,
				  &inventory->damaged};

	for (size_t i = 0; i < COUNT(owners); i++) {
		for (size_t k = 0; k < owners[i]->n; k++)
			free(owners[i]->rows[k]);
		index_fini(owners[i]);
	}
	index_fini(&inventory->datasets_by_name);
	index_fini(&inventory->snapshots_by_name);
	index_fini(&inventory->names);
	index_fini(&inventory->groups);
}

static struct damaged *new_damaged(const char *zfs_name)
{
	struct damaged *row = mem_alloc(sizeof(*row) + strlen(zfs_name) + 1);

	row->name = strcpy((char *)(row + 1), zfs_name);
	return row;
}

/* Remove a name from the damaged ones. */
static void mend(struct inventory *inventory, const char *zfs_name)
{
	const struct damaged row = {(char *)zfs_name};

	free(index_take(&inventory->damaged, &row));
}

void inventory_put_dataset(struct inventory *inventory, const char *parent,
			   const struct dataset *dataset)
{
	struct dataset *row = dataset_dup(dataset);

	mend(inventory, dataset->name);
	if (dataset_is_trash(parent, dataset->name)) {
		free(index_put(&inventory->trashed, row));
		return;
	}
	struct dataset *old = index_put(&inventory->datasets, row);
	if (old)
		index_take(&inventory->datasets_by_name, old);
	index_put(&inventory->datasets_by_name, row);
	free(old);
}

/*
 * Returns the index, besides those by id and by ZFS name, that the snapshot belongs to, or NULL. A
 * member of a group is not in `names`: all members share the group's name, which a CreateSnapshot
 * may use too.
 */
static struct index *second_index(struct inventory *inventory, const struct snapshot *snapshot)
{
	if (*snapshot->group)
		return &inventory->groups;
	return *snapshot->name ? &inventory->names : NULL;
}

static void forget(struct inventory *inventory, struct snapshot *snapshot)
{
	struct index *second = second_index(inventory, snapshot);

	if (second)
		index_take(second, snapshot);
	index_take(&inventory->snapshots_by_name, snapshot);
	free(snapshot);
}

/*
 * Returns true if `other` is preferred to `one`, which has the same id: a snapshot of a volume that
 * is not deleted comes first, then the later snapshot.
 */
static bool yields(const char *parent, const struct snapshot *one, const struct snapshot *other)
{
	bool in_trash = dataset_is_trash(parent, one->zfs_name);

	if (!strcmp(one->zfs_name, other->zfs_name))
		return false;
	if (in_trash != dataset_is_trash(parent, other->zfs_name))
		return in_trash;
	return one->creation < other->creation;
}

void inventory_put_snapshot(struct inventory *inventory, const char *parent,
			    const struct snapshot *snapshot)
{
	struct snapshot *old = index_get(&inventory->snapshots, snapshot->id);

	mend(inventory, snapshot->zfs_name);
	if (!inventory_owner(inventory, snapshot) || (old && yields(parent, snapshot, old)))
		return;
	struct snapshot *row = snapshot_dup(snapshot);
	index_put(&inventory->snapshots, row);
	if (old)
		forget(inventory, old);
	struct index *second = second_index(inventory, row);
	if (second)
		index_put(second, row);
	index_put(&inventory->snapshots_by_name, row);
}

static struct dataset *dataset_at(const struct inventory *inventory, const char *zfs_name)
{
	struct dataset *dataset = index_get(&inventory->datasets_by_name, zfs_name);

	return dataset ? dataset : index_get(&inventory->trashed, zfs_name);
}

static struct dataset *owner_of(const struct inventory *inventory, const struct snapshot *snapshot)
{
	size_t length = strcspn(snapshot->zfs_name, "@");
	char name[DATASET_NAME_MAX + 1];

	if (length >= sizeof(name))
		return NULL;
	*stpncpy(name, snapshot->zfs_name, length) = '\0';
	return dataset_at(inventory, name);
}

/* Remove a snapshot, and count down its dataset's snapshots: at 0 a deleted volume is destroyed. */
static void drop_snapshot(struct inventory *inventory, struct snapshot *snapshot)
{
	struct dataset *owner = owner_of(inventory, snapshot);

	if (owner && owner->snapshots && owner->snapshots != DATASET_UNCOUNTED)
		owner->snapshots--;
	index_take(&inventory->snapshots, snapshot);
	forget(inventory, snapshot);
}

/* Returns the position of a dataset's first snapshot by name; the others are next to it. */
static size_t snapshots_from(const struct inventory *inventory, const char *zfs_name)
{
	char beginning[DATASET_NAME_MAX + 2] = "";

	if (strlen(zfs_name) > DATASET_NAME_MAX)
		return inventory->snapshots_by_name.n;
	stpcpy(stpcpy(beginning, zfs_name), "@");
	return index_from(&inventory->snapshots_by_name, beginning, beginning);
}

/* Returns the snapshot at this position in snapshots_by_name if it is of the dataset, or NULL. */
static struct snapshot *snapshot_at(const struct inventory *inventory, size_t at,
				    const char *zfs_name)
{
	struct snapshot *row =
		at < inventory->snapshots_by_name.n ? inventory->snapshots_by_name.rows[at] : NULL;

	return row && snapshot_is_of(row, zfs_name) ? row : NULL;
}

void inventory_drop(struct inventory *inventory, const char *zfs_name)
{
	struct snapshot *snapshot = index_get(&inventory->snapshots_by_name, zfs_name);
	struct dataset *dataset = dataset_at(inventory, zfs_name);

	mend(inventory, zfs_name);
	if (snapshot)
		drop_snapshot(inventory, snapshot);
	if (!dataset)
		return;
	size_t from = snapshots_from(inventory, zfs_name);
	while ((snapshot = snapshot_at(inventory, from, zfs_name)))
		drop_snapshot(inventory, snapshot);
	if (index_take(&inventory->datasets_by_name, dataset))
		index_take(&inventory->datasets, dataset);
	else
		index_take(&inventory->trashed, dataset);
	free(dataset);
}

void inventory_damage(struct inventory *inventory, const char *zfs_name)
{
	inventory_drop(inventory, zfs_name);
	index_put(&inventory->damaged, new_damaged(zfs_name));
}

bool inventory_is_damaged(const struct inventory *inventory, const char *zfs_name)
{
	return index_get(&inventory->damaged, zfs_name) != NULL;
}

static void fill(struct index *index, struct dataset **rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		index_append(index, dataset_dup(rows[i]));
	index_sort(index);
}

static void fill_by_name(struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->datasets.n; i++)
		index_append(&inventory->datasets_by_name, inventory->datasets.rows[i]);
	index_sort(&inventory->datasets_by_name);
}

/* Fill the other indexes of snapshots from `snapshots`. */
static void fill_others(struct inventory *inventory)
{
	struct index *const others[] = {&inventory->snapshots_by_name, &inventory->names,
					&inventory->groups};

	for (size_t i = 0; i < inventory->snapshots.n; i++) {
		struct snapshot *row = inventory->snapshots.rows[i];
		struct index *second = second_index(inventory, row);
		if (second)
			index_append(second, row);
		index_append(&inventory->snapshots_by_name, row);
	}
	for (size_t i = 0; i < COUNT(others); i++)
		index_sort(others[i]);
}

/*
 * Append a snapshot, in the order of ids. Of two snapshots with one id, keep the one that yields()
 * prefers.
 */
static void append_snapshot(struct inventory *inventory, const char *parent,
			    const struct snapshot *snapshot)
{
	struct index *all = &inventory->snapshots;
	struct snapshot *last = all->n ? all->rows[all->n - 1] : NULL;

	if (!inventory_owner(inventory, snapshot))
		return;
	if (last && !strcmp(last->id, snapshot->id)) {
		if (yields(parent, snapshot, last))
			return;
		free(last);
		all->n--;
	}
	index_append(all, snapshot_dup(snapshot));
}

/* The listing is in the order of ZFS, so sort it by id once, instead of inserting each row. */
void inventory_fill(struct inventory *inventory, const char *parent, struct listing *listing)
{
	struct index sorted = INDEX_BY(struct snapshot, id);

	fill(&inventory->datasets, listing->datasets, listing->n_datasets);
	fill(&inventory->trashed, listing->trashed, listing->n_trashed);
	fill_by_name(inventory);
	for (size_t i = 0; i < listing->n_snapshots; i++)
		index_append(&sorted, listing->snapshots[i]);
	index_sort(&sorted);
	for (size_t i = 0; i < sorted.n; i++)
		append_snapshot(inventory, parent, sorted.rows[i]);
	index_fini(&sorted);
	fill_others(inventory);
	for (size_t i = 0; i < listing->n_damaged; i++)
		index_append(&inventory->damaged, new_damaged(listing->damaged[i]));
	index_sort(&inventory->damaged);
}

const struct dataset *inventory_dataset(const struct inventory *inventory, const char *zfs_name)
{
	return dataset_at(inventory, zfs_name);
}

void inventory_snapshots_of(const struct inventory *inventory, struct arena *arena,
			    const char *zfs_name, struct snapshot_list *ret)
{
	size_t from = snapshots_from(inventory, zfs_name), n = 0;

	while (snapshot_at(inventory, from + n, zfs_name))
		n++;
	*ret = (struct snapshot_list){.n = n};
	ret->rows = arena_alloc(arena, (n + 1) * sizeof(*ret->rows));
	for (size_t i = 0; i < n; i++)
		ret->rows[i] = snapshot_copy(arena, inventory->snapshots_by_name.rows[from + i]);
}

uint64_t inventory_mark(const struct inventory *inventory, const char *zfs_name)
{
	const struct snapshot *row;
	uint64_t n = 0, newest = 0;

	for (size_t i = snapshots_from(inventory, zfs_name);
	     (row = snapshot_at(inventory, i, zfs_name)); i++, n++)
		newest = (uint64_t)row->creation > newest ? (uint64_t)row->creation : newest;
	return newest << 24 ^ n;
}

const struct snapshot *inventory_named(const struct inventory *inventory, const char *name)
{
	size_t at = index_from(&inventory->names, name, "");
	const struct snapshot *found = at < inventory->names.n ? inventory->names.rows[at] : NULL;

	return found && !strcmp(found->name, name) ? found : NULL;
}

void inventory_group(const struct inventory *inventory, struct arena *arena, const char *group,
		     struct snapshot_list *ret)
{
	const struct index *groups = &inventory->groups;
	size_t from = index_from(groups, group, ""), end = from;

	while (end < groups->n && !strcmp(((struct snapshot *)groups->rows[end])->group, group))
		end++;
	*ret = (struct snapshot_list){.n = end - from};
	ret->rows = arena_alloc(arena, (ret->n + 1) * sizeof(*ret->rows));
	for (size_t i = 0; i < ret->n; i++)
		ret->rows[i] = inventory_show(inventory, arena, groups->rows[from + i]);
}

const struct dataset *inventory_owner(const struct inventory *inventory,
				      const struct snapshot *snapshot)
{
	return owner_of(inventory, snapshot);
}

struct snapshot *inventory_show(const struct inventory *inventory, struct arena *arena,
				const struct snapshot *snapshot)
{
	struct snapshot *shown = snapshot_copy(arena, snapshot);
	const struct dataset *owner = inventory_owner(inventory, snapshot);

	shown->dataset_guid = owner ? owner->guid : 0;
	shown->format = owner ? owner->format : NULL;
	if (!shown->size && owner)
		shown->size = owner->size;
	return shown;
}
