/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Publications: parsing and formatting zcsi:published, and which nodes may share a volume.
 *
 * Invariant: an unreadable text counts as one publication to a node that does not exist, so a
 * damaged property can only keep a volume from being destroyed or published.
 */
#include "node/record/publication.h"

#include <string.h>

#include "common/volume/escape.h"
#include "proto/csi.h"

#define MODE(name) VOLUME_CAPABILITY_ACCESS_MODE_MODE_##name

static const struct {
	int mode;
	const char *name;
	bool many_nodes;
	bool readonly;
} modes[] = {
	{MODE(SINGLE_NODE_WRITER), "SINGLE_NODE_WRITER", false, false},
	{MODE(SINGLE_NODE_READER_ONLY), "SINGLE_NODE_READER_ONLY", false, true},
	{MODE(SINGLE_NODE_SINGLE_WRITER), "SINGLE_NODE_SINGLE_WRITER", false, false},
	{MODE(SINGLE_NODE_MULTI_WRITER), "SINGLE_NODE_MULTI_WRITER", false, false},
	{MODE(MULTI_NODE_READER_ONLY), "MULTI_NODE_READER_ONLY", true, true},
	{MODE(MULTI_NODE_SINGLE_WRITER), "MULTI_NODE_SINGLE_WRITER", true, false},
	{MODE(MULTI_NODE_MULTI_WRITER), "MULTI_NODE_MULTI_WRITER", true, false},
};

static size_t mode_row(int mode)
{
	size_t i = 0;

	while (i < COUNT(modes) && modes[i].mode != mode)
		i++;
	return i;
}

bool access_mode_known(int access_mode)
{
	return mode_row(access_mode) < COUNT(modes);
}

bool access_mode_readonly(int access_mode)
{
	size_t row = mode_row(access_mode);

	return row < COUNT(modes) && modes[row].readonly;
}

static bool many_nodes(int mode)
{
	size_t row = mode_row(mode);

	return row < COUNT(modes) && modes[row].many_nodes;
}

static const char *mode_name(int mode)
{
	size_t row = mode_row(mode);

	return row < COUNT(modes) ? modes[row].name : "an unknown access mode";
}

static bool parse_record(struct arena *arena, char *record, struct publication *ret)
{
	char *mode = strchr(record, ':');
	char *access = mode ? strchr(mode + 1, ':') : NULL;
	char *address = access ? strchr(access + 1, ':') : NULL;

	/* All access modes have one digit. */
	if (!access || access != mode + 2)
		return false;
	*mode = *access = '\0';
	if (address)
		*address++ = '\0';
	*ret = (struct publication){.node_id = unescape_text(arena, record),
				    .access_mode = mode[1] - '0',
				    .readonly = !strcmp(access + 1, "ro"),
				    .address = unescape_text(arena, address ? address : "")};
	return ret->node_id && *ret->node_id && ret->address && (!address || *address) &&
	       access_mode_known(ret->access_mode) && (ret->readonly || !strcmp(access + 1, "rw"));
}

void publication_parse(struct arena *arena, const char *text, struct publication_list *ret)
{
	char *copy = arena_strdup(arena, text), *record;
	size_t most = strlen(text) / 2 + 1;

	*ret = (struct publication_list){.rows = arena_alloc(arena, most * sizeof(*ret->rows))};
	if (!*text || !strcmp(text, "-"))
		return;
	while ((record = strsep(&copy, ",")) != NULL) {
		if (ret->n < most && parse_record(arena, record, &ret->rows[ret->n++]))
			continue;
		ret->rows[0] =
			(struct publication){.node_id = PUBLICATION_UNREADABLE, .address = ""};
		ret->n = 1;
		return;
	}
}

char *publication_format(struct arena *arena, const struct publication_list *list)
{
	char *text = arena_strdup(arena, list->n ? "" : "-");

	for (size_t i = 0; i < list->n; i++) {
		const struct publication *row = &list->rows[i];
		text = arena_printf(arena, "%s%s%s:%d:%s%s%s", text, i ? "," : "",
				    escape_text(arena, row->node_id), row->access_mode,
				    row->readonly ? "ro" : "rw", *row->address ? ":" : "",
				    escape_text(arena, row->address));
	}
	return text;
}

char *publication_names(struct arena *arena, const struct publication_list *list)
{
	char *text = arena_strdup(arena, "");

	for (size_t i = 0; i < list->n; i++)
		text = arena_printf(arena, "%s%snode '%s'", text, i ? ", " : "",
				    list->rows[i].node_id);
	return text;
}

bool publication_writes(const struct publication *publication)
{
	return !publication->readonly && !access_mode_readonly(publication->access_mode);
}

/* Returns true if both publications may exist at the same time. */
static bool compatible(const struct publication *one, const struct publication *other)
{
	bool single_writer = one->access_mode == MODE(MULTI_NODE_SINGLE_WRITER) ||
			     other->access_mode == MODE(MULTI_NODE_SINGLE_WRITER);

	return many_nodes(one->access_mode) && many_nodes(other->access_mode) &&
	       !(single_writer && publication_writes(one) && publication_writes(other));
}

static int refuse(const char *id, const struct publication *has, const struct publication *want,
		  struct error *err)
{
	if (!strcmp(has->node_id, PUBLICATION_UNREADABLE))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "volume '%s' has a zcsi:published property that cannot be read; "
			    "stop all jobs that use it, then clear the property with 'zfs set "
			    "zcsi:published=-'",
			    id);
	if (strcmp(has->node_id, want->node_id))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "volume '%s' is in use on node '%s' as %s; stop the job that uses it "
			    "there first, or use a MULTI_NODE access mode in both jobs",
			    id, has->node_id, mode_name(has->access_mode));
	if (has->access_mode != want->access_mode)
		return fail(err, ERR_ALREADY_EXISTS,
			    "volume '%s' is in use on node '%s' with access mode %s, not %s; stop "
			    "the job that uses it there first",
			    id, has->node_id, mode_name(has->access_mode),
			    mode_name(want->access_mode));
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

int publication_admit(struct arena *arena, const char *id, const struct publication_list *list,
		      const struct publication *want, struct publication_list *ret,
		      struct error *err)
{
	struct publication record = *want;
	size_t own = list->n;

	for (size_t i = 0; i < list->n; i++) {
		const struct publication *has = &list->rows[i];
		if (strcmp(has->node_id, want->node_id))
			continue;
		own = i;
		if (!same_access(has, want) &&
		    (!many_nodes(has->access_mode) || !many_nodes(want->access_mode)))
			return refuse(id, has, want, err);
		record = widest(has, want);
		if (same_access(has, &record) && !strcmp(has->address, record.address))
			return 0;
	}
	for (size_t i = 0; i < list->n; i++)
		if (i != own && !compatible(&list->rows[i], &record))
			return refuse(id, &list->rows[i], &record, err);

	*ret = (struct publication_list){.n = own < list->n ? list->n : list->n + 1};
	ret->rows = arena_alloc(arena, ret->n * sizeof(*ret->rows));
	memcpy(ret->rows, list->rows, list->n * sizeof(*ret->rows));
	ret->rows[own] = record;
	return 1;
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
