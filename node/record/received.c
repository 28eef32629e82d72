/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Judging a dataset that was received.
 *
 * Invariant: a dataset that passes has a snapshot, so its first stream was whole; it is no clone,
 * and no dataset is below it; and it has no property that a new volume must not have.
 */
#include "node/record/received.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Properties that must have exactly this value, or be unset ("-"). */
static const struct {
	const char *name, *value;
	bool adopted; /* an adoption may set it */
} foreign[] = {
	{"readonly", "off", false},     {"sharenfs", "off", false},
	{"zcsi:members", "-", false},   {"zcsi:published", "-", false},
	{"zcsi:source", "-", false},    {"zcsi:deleted", "-", false},
	{"zcsi:root", "-", true},       {"zcsi:parameters", "-", true},
	{"zcsi:formatted", "-", false},
};

#define NATIVE "guid,creation,volsize,referenced,origin"
#define FOREIGN                                                                                    \
	"readonly,sharenfs,zcsi:members,zcsi:published,zcsi:source,zcsi:deleted,zcsi:root,"        \
	"zcsi:parameters,zcsi:formatted"

const char *received_properties(bool kernel_zfs)
{
	return kernel_zfs ? NATIVE "," FOREIGN ",encryptionroot" : NATIVE "," FOREIGN;
}

static void take_foreign(struct arena *arena, const char *name, const char *value,
			 struct received *ret)
{
	/* Accept "-" for each property: zfs prints it as the sharenfs of a zvol. */
	for (size_t i = 0; i < COUNT(foreign); i++)
		if (!strcmp(foreign[i].name, name) && strcmp(foreign[i].value, value) != 0 &&
		    strcmp(value, "-") != 0 && !(ret->described && foreign[i].adopted))
			ret->foreign = arena_printf(arena, "%s=%s", name, value);
}

static bool take(struct arena *arena, const char *name, const char *value, struct received *ret)
{
	if (!strcmp(name, "type")) {
		ret->zvol = !strcmp(value, "volume");
		return ret->zvol || !strcmp(value, "filesystem");
	}
	if (!strcmp(name, "guid"))
		ret->guid = strtoull(value, NULL, 10);
	else if (!strcmp(name, "creation"))
		ret->creation = strtoll(value, NULL, 10);
	else if (!strcmp(name, "volsize"))
		ret->volsize = strtoll(value, NULL, 10);
	else if (!strcmp(name, "referenced"))
		ret->data = strtoull(value, NULL, 10);
	else if (!strcmp(name, "origin"))
		ret->origin = value;
	else if (!strcmp(name, "encryptionroot"))
		ret->root = value;
	else
		take_foreign(arena, name, value, ret);
	return true;
}

bool received_parse(struct arena *arena, const struct zfs_fields *row, struct received *ret)
{
	ret->origin = ret->root = "-";
	for (size_t i = 1; i < row->n; i++)
		if (!take(arena, row->values[i].property, row->values[i].text, ret))
			return false;
	return !row->damaged && ret->guid && (!ret->zvol || ret->volsize > 0);
}

void received_count(const char *printed, struct received *ret)
{
	size_t length = strlen(ret->name);

	for (const char *at = printed; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		if (strncmp(at, ret->name, length) != 0)
			continue;
		ret->snapshots += at[length] == '@';
		ret->children += at[length] == '/';
	}
}

static int check_state(const struct received *received, struct error *err)
{
	const char *name = received->name;

	if (!received->snapshots)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' has no snapshot: it is still being received, or take one with "
			    "'zfs snapshot %s@NAME'",
			    name, name);
	if (received->children)
		return fail(
			err, ERR_FAILED_PRECONDITION,
			"%zu datasets are below '%s', and a volume is a single one: rename them "
			"with 'zfs rename'",
			received->children, name);
	if (strcmp(received->origin, "-") != 0)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is a clone of '%s': run 'zfs promote %s' first", name,
			    received->origin, name);
	if (received->foreign)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' has %s, and a new volume has not: remove that with 'zfs inherit' "
			    "or 'zfs set'",
			    name, received->foreign);
	return 0;
}

/* Returns a size that has room for twice the data of a filesystem, in MiB. */
static uint64_t room_for(uint64_t data)
{
	uint64_t size = 1;

	while (size << 20 < 2 * data)
		size *= 2;
	return size;
}

static int check_form(const struct received *received, const struct received_wish *wish,
		      struct error *err)
{
	if (received->zvol != wish->format->zvol)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is a %s, which cannot have the format %s", received->name,
			    received->zvol ? "zvol" : "filesystem", wish->format->name);
	if (received->zvol && wish->size && wish->size != received->volsize)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is a zvol and has its size: give none", received->name);
	if (!received->zvol && wish->size <= 0)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is a filesystem, and its stream has no size: add --size %" PRIu64
			    "M, or more",
			    received->name, room_for(received->data));
	return 0;
}

int received_check(const struct received *received, const struct received_wish *wish,
		   struct error *err)
{
	if (wish->guid && wish->guid != received->guid)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' was replaced by another dataset meanwhile", received->name);
	if (check_state(received, err) < 0)
		return -1;
	return check_form(received, wish, err);
}
