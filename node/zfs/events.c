/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Parsing events of ZFS, line by line.
 *
 * Invariant: no change below the parent is missed, whatever the lines contain. zpool does not
 * escape values, not even newlines, so a user can forge fields: of two fields of one name the one
 * in the kernel's position counts, and malformed events report "all". Only the names and the verb
 * are used; the caller reads the datasets again.
 */
#include "node/zfs/events.h"

#include <stdlib.h>
#include <string.h>

#define CLASS     "sysevent.fs.zfs."
#define TIME      "time = "
/* The class of the event that reports a pool as suspended because its devices failed. */
#define SUSPENDED "ereport.fs.zfs.io_failure"

static bool begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Returns true if the name is the dataset, whose name has `length` bytes, or is below it. */
static bool is_within(const char *name, const char *dataset, size_t length)
{
	return !strncmp(name, dataset, length) && (!name[length] || strchr("/@", name[length]));
}

static bool is_in_pool(const struct events *events, const char *name)
{
	return is_within(name, events->parent, strcspn(events->parent, "/"));
}

/* Returns true for the parent, its ancestors and its trash: their changes affect many volumes. */
static bool is_container(const struct events *events, const char *name)
{
	size_t length = strlen(events->parent);

	return is_within(events->parent, name, strlen(name)) ||
	       (begins(name, events->parent) && !strcmp(name + length, "/" DATASET_TRASH));
}

/* Returns true for a dataset directly below the parent or the trash, and for its snapshots. */
static bool is_volume_name(const struct events *events, const char *name)
{
	size_t length = strlen(events->parent);

	if (!begins(name, events->parent) || name[length] != '/')
		return false;
	const char *leaf = name + length + 1;
	if (begins(leaf, DATASET_TRASH "/"))
		leaf += strlen(DATASET_TRASH "/");
	return *leaf && !strchr(leaf, '/');
}

/*
 * Add a name to the changes if it is the parent, an ancestor, the trash, or a volume. A property
 * that was set or inherited on the first three is reported as a change of the parent alone.
 */
static void add(const struct events *events, const char *name, struct changed *changed)
{
	bool only_itself = !strcmp(events->verb, "set") || !strcmp(events->verb, "inherit");

	if (is_container(events, name) && !only_itself)
		changed->all = true;
	else if (is_container(events, name))
		strcpy(changed->names[changed->n++], events->parent);
	else if (is_volume_name(events, name))
		strcpy(changed->names[changed->n++], name);
}

/* Read the new name from "-> pool/parent/other", or "-> @other" for a snapshot. */
static bool new_name(const struct events *events, char ret[DATASET_NAME_MAX + 1])
{
	const char *arrow = "-> ", *other = events->detail + strlen(arrow);
	size_t kept = *other == '@' ? strcspn(events->name, "@") : 0;

	if (!begins(events->detail, arrow) || kept + strlen(other) > DATASET_NAME_MAX)
		return false;
	stpcpy(stpncpy(ret, events->name, kept), other);
	return true;
}

static void report(const struct events *events, struct changed *changed)
{
	char other[DATASET_NAME_MAX + 1];

	if (!is_in_pool(events, events->name))
		return;
	/* A promoted clone takes snapshots of another dataset, which the event does not name. */
	if (!*events->verb || !strcmp(events->verb, "promote")) {
		changed->all = true;
		return;
	}
	add(events, events->name, changed);
	if (strcmp(events->verb, "rename"))
		return;
	if (new_name(events, other))
		add(events, other, changed);
	else
		changed->all = true;
}

static bool finish(struct events *events, struct changed *ret)
{
	events->open = false;
	if (events->time < events->since)
		return false;
	if (events->is_pool)
		ret->all = is_in_pool(events, events->pool);
	else if (events->is_history && *events->name)
		report(events, ret);
	return ret->all || ret->n;
}

/*
 * Begin an event at its head line. A head line inside an event means that the end of that event was
 * lost, or that a value contains such a line: then report "all".
 */
static bool start(struct events *events, const char *class, struct changed *ret)
{
	ret->all = events->open;
	*events = (struct events){
		.parent = events->parent,
		.since = events->since,
		.open = true,
		.time = INT64_MAX,
		.is_history = !strcmp(class, CLASS "history_event"),
		.is_pool = begins(class, CLASS "pool_") || !strcmp(class, SUSPENDED),
	};
	return ret->all;
}

/* Keep the first value: the kernel prints it before any that a user chose. */
static void keep(char *field, size_t size, const char *value)
{
	size_t length = strcspn(value, "\"");

	if (*field || length >= size)
		return;
	memcpy(field, value, length);
	field[length] = '\0';
}

/* Parse "0x6b00470e 0x32116200", seconds and nanoseconds; an invalid time is never too old. */
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
	/* The kernel prints the time after all values that a user chose, so the last one counts. */
	if (begins(line, TIME))
		events->time = milliseconds(line + strlen(TIME));
}

bool events_line(struct events *events, const char *line, struct changed *ret)
{
	const char *tab = strrchr(line, '\t');

	ret->all = false;
	ret->n = 0;
	if (!*line)
		return events->open && finish(events, ret);
	/* "dropped 3 events": the kernel's queue was full. */
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
