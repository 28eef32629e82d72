/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Changes of the list of publications: which nodes may share a volume.
 *
 * Invariant: a publication that holds the volume is removed only by publication_withdraw, so an
 * unreadable one keeps the volume from being published. A change is a new list; the old one stays.
 */
#include "node/record/publication_change.h"

#include <string.h>

#include "proto/csi.h"

#define MODE(name) VOLUME_CAPABILITY_ACCESS_MODE_MODE_##name

/* Returns true if both publications may exist at the same time. */
static bool compatible(const struct publication *one, const struct publication *other)
{
	bool single_writer = one->access_mode == MODE(MULTI_NODE_SINGLE_WRITER) ||
			     other->access_mode == MODE(MULTI_NODE_SINGLE_WRITER);

	return access_mode_shared(one->access_mode) && access_mode_shared(other->access_mode) &&
	       !(single_writer && publication_writes(one) && publication_writes(other));
}

static int refuse(const char *id, const struct publication *has, const struct publication *want,
		  struct error *err)
{
	if (publication_is_unreadable(has))
		return fail(err, ERR_UNAVAILABLE,
			    "volume '%s' has a zcsi:published property that cannot be read; "
			    "stop all jobs that use it, then run 'zcsi unpublish %s --force'",
			    id, id);
	if (strcmp(has->node_id, want->node_id))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "volume '%s' is in use on node '%s' as %s; stop the job that uses it "
			    "there first, or use a MULTI_NODE access mode in both jobs",
			    id, has->node_id, access_mode_name(has->access_mode));
	if (has->access_mode != want->access_mode)
		return fail(err, ERR_ALREADY_EXISTS,
			    "volume '%s' is in use on node '%s' with access mode %s, not %s; stop "
			    "the job that uses it there first",
			    id, has->node_id, access_mode_name(has->access_mode),
			    access_mode_name(want->access_mode));
	return fail(err, ERR_ALREADY_EXISTS,
		    "volume '%s' is in use on node '%s' with readonly %s, not %s; stop the job "
		    "that uses it there first",
		    id, has->node_id, has->readonly ? "true" : "false",
		    want->readonly ? "true" : "false");
}

/*
 * Returns a publication that allows all that either of the two allows. All workloads of a node
 * share one publication. An access mode with more writers has a higher number.
 */
static struct publication widest(const struct publication *has, const struct publication *want)
{
	return (struct publication){
		.node_id = want->node_id,
		.access_mode =
			has->access_mode > want->access_mode ? has->access_mode : want->access_mode,
		.readonly = has->readonly && want->readonly,
		.address = want->address,
	};
}

static bool same_access(const struct publication *one, const struct publication *other)
{
	return one->access_mode == other->access_mode && one->readonly == other->readonly;
}

static struct publication *find(const struct publication_list *list, const char *node_id)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->rows[i].node_id, node_id))
			return &list->rows[i];
	return NULL;
}

/* *ret is a copy of the list, with room for one more row. */
static void copy(struct arena *arena, const struct publication_list *list,
		 struct publication_list *ret)
{
	*ret = (struct publication_list){
		.rows = arena_alloc(arena, (list->n + 1) * sizeof(*ret->rows)), .n = list->n};
	memcpy(ret->rows, list->rows, list->n * sizeof(*ret->rows));
}

/*
 * *ret is the list with the record as the row of its node. Rows that do not hold the volume are
 * left out if they exclude the record.
 */
static int merge(struct arena *arena, const char *id, const char *holder,
		 const struct publication_list *list, const struct publication *record,
		 struct publication_list *ret, struct error *err)
{
	const struct publication *own = find(list, record->node_id);

	copy(arena, list, ret);
	ret->n = 0;
	for (size_t i = 0; i < list->n; i++) {
		const struct publication *has = &list->rows[i];
		if (has == own)
			ret->rows[ret->n++] = *record;
		else if (compatible(has, record))
			ret->rows[ret->n++] = *has;
		else if (publication_holds(has, holder))
			return refuse(id, has, record, err);
	}
	if (!own)
		ret->rows[ret->n++] = *record;
	return 1;
}

int publication_admit(struct arena *arena, const char *id, const char *holder,
		      const struct publication_list *list, const struct publication *want,
		      struct publication_list *ret, struct error *err)
{
	const struct publication *own = find(list, want->node_id);

	if (!own || !publication_holds(own, holder))
		return merge(arena, id, holder, list, want, ret, err);
	if (!same_access(own, want) &&
	    (!access_mode_shared(own->access_mode) || !access_mode_shared(want->access_mode)))
		return refuse(id, own, want, err);
	const struct publication record = widest(own, want);
	if (same_access(own, &record) && !strcmp(own->address, record.address))
		return 0;
	return merge(arena, id, holder, list, &record, ret, err);
}

int publication_stage(struct arena *arena, const char *id, const struct publication_list *list,
		      const struct publication *want, struct publication_list *ret,
		      struct error *err)
{
	const struct publication *own = find(list, want->node_id);

	for (size_t i = 0; !own && i < list->n; i++)
		if (*list->rows[i].address && !compatible(&list->rows[i], want))
			return refuse(id, &list->rows[i], want, err);
	if (!own || !own->idle)
		return 0;
	copy(arena, list, ret);
	ret->rows[own - list->rows].idle = false;
	return 1;
}

bool publication_rest(struct arena *arena, const struct publication_list *list, const char *holder,
		      struct publication_list *ret)
{
	copy(arena, list, ret);
	struct publication *own = find(ret, holder);
	if (!own || *own->address || own->idle)
		return false;
	own->idle = true;
	return true;
}

bool publication_withdraw(struct arena *arena, const struct publication_list *list,
			  const char *node_id, struct publication_list *ret)
{
	*ret = (struct publication_list){
		.rows = arena_alloc(arena, (list->n + 1) * sizeof(*ret->rows))};
	for (size_t i = 0; *node_id && i < list->n; i++)
		if (strcmp(list->rows[i].node_id, node_id))
			ret->rows[ret->n++] = list->rows[i];
	return ret->n != list->n;
}
