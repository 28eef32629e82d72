/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The holdings: five indexes over two kinds of rows.
 *
 * Invariant: each snapshot of `snapshots` has a dataset when it is put in, and is in `names` when
 * CSI named it and in `groups` when it has a group; nothing else is there. Of two snapshots with
 * one id (a deleted volume and its successor, both snapshotted by another tool) the living
 * volume's is known and the other waits in the trash for a person.
 */
#include "node/holdings.h"

#include <stdlib.h>
#include <string.h>

void holdings_init(struct holdings *holdings)
{
	*holdings = (struct holdings){
		.datasets = INDEX_BY(struct dataset, id),
		.trashed = INDEX_BY(struct dataset, name),
		.snapshots = INDEX_BY(struct snapshot, id),
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
	index_fini(&holdings->names);
	index_fini(&holdings->groups);
}

void holdings_put_dataset(struct holdings *holdings, const char *parent,
			  const struct dataset *dataset)
{
	struct index *index =
		dataset_is_trash(parent, dataset->name) ? &holdings->trashed : &holdings->datasets;

	free(index_put(index, dataset_dup(dataset)));
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
}

static struct dataset *owner_of(const struct holdings *holdings, const struct snapshot *snapshot)
{
	struct dataset *dataset = index_get(&holdings->datasets, snapshot->dataset_id);
	char name[DATASET_NAME_MAX + 1];

	if (dataset && snapshot_is_of(snapshot, dataset->name))
		return dataset;
	size_t length = strcspn(snapshot->zfs_name, "@");
	if (length >= sizeof(name))
		return NULL;
	*stpncpy(name, snapshot->zfs_name, length) = '\0';
	return index_get(&holdings->trashed, name);
}

void holdings_drop(struct holdings *holdings, const char *id, const char *zfs_name)
{
	struct snapshot *snapshot = index_get(&holdings->snapshots, id);
	struct dataset *dataset = index_get(&holdings->datasets, id);
	struct dataset *trashed = index_get(&holdings->trashed, zfs_name);

	if (snapshot && !strcmp(snapshot->zfs_name, zfs_name)) {
		/* A deleted volume is reaped when it has none left. */
		struct dataset *owner = owner_of(holdings, snapshot);
		if (owner && owner->snapshots)
			owner->snapshots--;
		index_take(&holdings->snapshots, snapshot);
		forget(holdings, snapshot);
	}
	if (dataset && !strcmp(dataset->name, zfs_name))
		free(index_take(&holdings->datasets, dataset));
	if (trashed)
		free(index_take(&holdings->trashed, trashed));
}

static void fill(struct index *index, struct dataset **rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		index_append(index, dataset_dup(rows[i]));
	index_sort(index);
}

/* Rows come in ZFS's order, which is no order of ids: sorted once here, and then put at the end. */
void holdings_fill(struct holdings *holdings, const char *parent, struct reading *reading)
{
	struct index sorted = INDEX_BY(struct snapshot, id);

	fill(&holdings->datasets, reading->datasets, reading->n_datasets);
	fill(&holdings->trashed, reading->trashed, reading->n_trashed);
	for (size_t i = 0; i < reading->n_snapshots; i++)
		index_append(&sorted, reading->snapshots[i]);
	index_sort(&sorted);
	for (size_t i = 0; i < sorted.n; i++) {
		struct snapshot *snapshot = sorted.rows[i];
		struct snapshot *last =
			holdings->snapshots.n ? holdings->snapshots.rows[holdings->snapshots.n - 1]
					      : NULL;
		if (!holdings_owner(holdings, snapshot))
			continue;
		if (last && !strcmp(last->id, snapshot->id)) {
			if (yields(parent, snapshot, last))
				continue;
			free(last);
			holdings->snapshots.n--;
		}
		index_append(&holdings->snapshots, snapshot_dup(snapshot));
	}
	index_fini(&sorted);
	for (size_t i = 0; i < holdings->snapshots.n; i++) {
		struct index *second = second_index(holdings, holdings->snapshots.rows[i]);
		if (second)
			index_append(second, holdings->snapshots.rows[i]);
	}
	index_sort(&holdings->names);
	index_sort(&holdings->groups);
}

const struct snapshot *holdings_named(const struct holdings *holdings, const char *name)
{
	size_t at = index_from(&holdings->names, name, "");
	const struct snapshot *found = at < holdings->names.n ? holdings->names.rows[at] : NULL;

	return found && !strcmp(found->name, name) ? found : NULL;
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
	if (!shown->size && owner)
		shown->size = owner->size;
	return shown;
}

/* The ids of a volume's snapshots begin alike, cut ones too: they stand together. */
static bool in_range(const struct snapshot_query *query, const struct snapshot *snapshot)
{
	if (*query->group)
		return !strcmp(snapshot->group, query->group);
	if (!*query->dataset_id)
		return true;
	char beginning[DATASET_ID_MAX + 2];
	stpcpy(stpcpy(beginning, query->dataset_id), "@");
	return !strncmp(snapshot->id, beginning, snapshot_id_prefix(query->dataset_id));
}

static size_t range_start(const struct holdings *holdings, const struct snapshot_query *query)
{
	char beginning[DATASET_ID_MAX + 2];

	if (*query->group)
		return index_from(&holdings->groups, query->group, query->after);
	stpcpy(stpcpy(beginning, query->dataset_id), *query->dataset_id ? "@" : "");
	if (*query->dataset_id)
		beginning[snapshot_id_prefix(query->dataset_id)] = '\0';
	const char *from = strcmp(query->after, beginning) > 0 ? query->after : beginning;
	return index_from(&holdings->snapshots, from, from);
}

void holdings_page(const struct holdings *holdings, struct arena *arena,
		   const struct snapshot_query *query, struct snapshot_list *ret, bool *ret_more)
{
	const struct index *index = *query->group ? &holdings->groups : &holdings->snapshots;

	*ret = (struct snapshot_list){.rows = arena_alloc(arena, query->max * sizeof(*ret->rows))};
	*ret_more = false;
	if (strlen(query->dataset_id) > DATASET_ID_MAX)
		return;
	for (size_t i = range_start(holdings, query); i < index->n; i++) {
		const struct snapshot *snapshot = index->rows[i];
		if (!in_range(query, snapshot))
			break;
		if (!strcmp(snapshot->id, query->after) ||
		    (*query->dataset_id && strcmp(snapshot->dataset_id, query->dataset_id) != 0))
			continue;
		if (ret->n == query->max) {
			*ret_more = true;
			break;
		}
		ret->rows[ret->n++] = holdings_show(holdings, arena, snapshot);
	}
}
