/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Publications: parsing and formatting zcsi:published, and the access modes.
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

bool access_mode_shared(int mode)
{
	size_t row = mode_row(mode);

	return row < COUNT(modes) && modes[row].many_nodes;
}

const char *access_mode_name(int mode)
{
	size_t row = mode_row(mode);

	return row < COUNT(modes) ? modes[row].name : "an unknown access mode";
}

static const struct {
	const char *text;
	bool readonly, idle;
} accesses[] = {
	{"rw", false, false},
	{"ro", true, false},
	{"rw-idle", false, true},
	{"ro-idle", true, true},
};

static bool parse_access(const char *text, struct publication *ret)
{
	for (size_t i = 0; i < COUNT(accesses); i++) {
		ret->readonly = accesses[i].readonly;
		ret->idle = accesses[i].idle;
		if (!strcmp(text, accesses[i].text))
			return true;
	}
	return false;
}

static const char *access_text(const struct publication *publication)
{
	size_t i = 0;

	while (accesses[i].readonly != publication->readonly ||
	       accesses[i].idle != publication->idle)
		i++;
	return accesses[i].text;
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
				    .address = unescape_text(arena, address ? address : "")};
	return ret->node_id && *ret->node_id && ret->address && (!address || *address) &&
	       access_mode_known(ret->access_mode) && parse_access(access + 1, ret);
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
				    access_text(row), *row->address ? ":" : "",
				    escape_text(arena, row->address));
	}
	return text;
}

bool publication_is_unreadable(const struct publication *publication)
{
	return !strcmp(publication->node_id, PUBLICATION_UNREADABLE);
}

bool publication_holds(const struct publication *publication, const char *holder)
{
	return publication_is_unreadable(publication) || *publication->address ||
	       (!publication->idle && !strcmp(publication->node_id, holder));
}

char *publication_names(struct arena *arena, const struct publication_list *list,
			const char *holder)
{
	char *text = arena_strdup(arena, "");

	for (size_t i = 0; i < list->n; i++)
		if (publication_holds(&list->rows[i], holder))
			text = arena_printf(arena, "%s%snode '%s'", text, *text ? ", " : "",
					    list->rows[i].node_id);
	return text;
}

int publication_check_none(struct arena *arena, const struct dataset *volume, const char *holder,
			   struct error *err)
{
	struct publication_list published;

	publication_parse(arena, volume->published, &published);
	const char *users = publication_names(arena, &published, holder);
	if (!*users)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "it is attached to %s; stop the job that uses it there, or run 'zcsi "
		    "unpublish %s'",
		    users, volume->id);
}

bool publication_writes(const struct publication *publication)
{
	return !publication->readonly && !access_mode_readonly(publication->access_mode);
}
