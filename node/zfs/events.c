/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Events of ZFS, line by line.
 *
 * Invariant: a change below the parent is news, whatever else the lines hold. A value is printed
 * as it is, newlines included, so of two fields of one name the one counts that stands where the
 * kernel puts it, and what does not look like an event makes everything news. What an event says
 * besides a name and what became of it is not believed: the name is read again.
 */
#include "node/zfs/events.h"

#include <stdlib.h>
#include <string.h>

#define CLASS     "sysevent.fs.zfs."
#define TIME      "time = "
/* Its devices are gone, and it waits for them. */
#define SUSPENDED "ereport.fs.zfs.io_failure"

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Of `dataset`, its first bytes are meant: what they name, something below it, or its snapshot. */
static bool is_within(const char *name, const char *dataset, size_t length)
{
	return !strncmp(name, dataset, length) && (!name[length] || strchr("/@", name[length]));
}

static bool is_in_pool(const struct events *events, const char *name)
{
	return is_within(name, events->parent, strcspn(events->parent, "/"));
}

/* The parent itself, what it is below, and its trash: what happens to them happens to many. */
static bool is_container(const struct events *events, const char *name)
{
	size_t length = strlen(events->parent);

	return is_within(events->parent, name, strlen(name)) ||
	       (begins(name, events->parent) && !strcmp(name + length, "/" DATASET_TRASH));
}

/* A dataset right below the parent or its trash, or a snapshot of one. */
static bool is_held(const struct events *events, const char *name)
{
	size_t length = strlen(events->parent);

	if (!begins(name, events->parent) || name[length] != '/')
		return false;
	const char *leaf = name + length + 1;
	if (begins(leaf, DATASET_TRASH "/"))
		leaf += strlen(DATASET_TRASH "/");
	return *leaf && !strchr(leaf, '/');
}

static void add(const struct events *events, const char *name, struct news *news)
{
	bool only_itself = !strcmp(events->verb, "set") || !strcmp(events->verb, "inherit");

	if (is_container(events, name) && !only_itself)
		news->all = true;
	else if (is_container(events, name))
		strcpy(news->names[news->n++], events->parent);
	else if (is_held(events, name))
		strcpy(news->names[news->n++], name);
}

/* "-> pool/parent/other", or "-> @other" of a snapshot. */
static bool new_name(const struct events *events, char ret[DATASET_NAME_MAX + 1])
{
	const char *arrow = "-> ", *other = events->detail + strlen(arrow);
	size_t kept = *other == '@' ? strcspn(events->name, "@") : 0;

	if (!begins(events->detail, arrow) || kept + strlen(other) > DATASET_NAME_MAX)
		return false;
	stpcpy(stpncpy(ret, events->name, kept), other);
	return true;
}

static void tell_change(const struct events *events, struct news *news)
{
	char other[DATASET_NAME_MAX + 1];

	if (!is_in_pool(events, events->name))
		return;
	/* A promoted clone takes the snapshots of another dataset, which is not told. */
	if (!*events->verb || !strcmp(events->verb, "promote")) {
		news->all = true;
		return;
	}
	add(events, events->name, news);
	if (strcmp(events->verb, "rename"))
		return;
	if (new_name(events, other))
		add(events, other, news);
	else
		news->all = true;
}

static bool finish(struct events *events, struct news *ret)
{
	events->open = false;
	if (events->time < events->since)
		return false;
	if (events->whole)
		ret->all = is_in_pool(events, events->pool);
	else if (events->history && *events->name)
		tell_change(events, ret);
	return ret->all || ret->n;
}

/* A head line within an event: the end of that one was lost, or it is part of a value. */
static bool start(struct events *events, const char *class, struct news *ret)
{
	ret->all = events->open;
	*events = (struct events){
		.parent = events->parent,
		.since = events->since,
		.open = true,
		.time = INT64_MAX,
		.history = !strcmp(class, CLASS "history_event"),
		.whole = begins(class, CLASS "pool_") || !strcmp(class, SUSPENDED),
	};
	return ret->all;
}

/* The name comes before what somebody chose. What does not fit is no name of ZFS's. */
static void keep(char *field, size_t size, const char *value)
{
	size_t length = strcspn(value, "\"");

	if (*field || length >= size)
		return;
	memcpy(field, value, length);
	field[length] = '\0';
}

/* "0x6b00470e 0x32116200": seconds and nanoseconds. What is no time is not in the past. */
static int64_t milliseconds(const char *text)
{
	char *end;
	uint64_t seconds = strtoull(text, &end, 16), nanoseconds = strtoull(end, NULL, 16);

	if (seconds > INT32_MAX * UINT64_C(1000) || nanoseconds >= 1000000000)
		return INT64_MAX;
	return (int64_t)(seconds * 1000 + nanoseconds / 1000000);
}

static void take_field(struct events *events, const char *line)
{
	const struct {
		const char *begins;
		char *field;
		size_t size;
	} rows[] = {
		{"pool = \"", events->pool, sizeof(events->pool)},
		{"history_dsname = \"", events->name, sizeof(events->name)},
		{"history_internal_name = \"", events->verb, sizeof(events->verb)},
		{"history_internal_str = \"", events->detail, sizeof(events->detail)},
	};

	line += strspn(line, " ");
	for (size_t i = 0; i < COUNT(rows); i++)
		if (begins(line, rows[i].begins))
			keep(rows[i].field, rows[i].size, line + strlen(rows[i].begins));
	/* It comes after that. */
	if (begins(line, TIME))
		events->time = milliseconds(line + strlen(TIME));
}

bool events_line(struct events *events, const char *line, struct news *ret)
{
	const char *tab = strrchr(line, '\t');

	ret->all = false;
	ret->n = 0;
	if (!*line)
		return events->open && finish(events, ret);
	/* "dropped 3 events": the kernel keeps so many, and we were late. */
	if (begins(line, "dropped ")) {
		ret->all = true;
		return true;
	}
	if (*line != ' ' && tab)
		return start(events, tab + 1, ret);
	if (events->open)
		take_field(events, line);
	return false;
}
