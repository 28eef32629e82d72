/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The table of properties that a request may set on a volume, and the checks of their values.
 *
 * Invariant: a property that passes cannot harm zcsi or another volume, and zfs cannot read it as
 * an option: the name is in the table or has a colon, and the value has no control characters.
 */
#include "node/record/property.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/utf8.h"
#include "common/volume/schedule.h"

#define VALUE_MAX      64
#define USER_VALUE_MAX 1024
#define USER_NAME_MAX  255

/* Returns true if text has 1 to max bytes, all of them alphanumeric or in `more`. */
static bool consists_of(const char *text, const char *more, size_t max)
{
	size_t length = strlen(text);
	bool good = length && length <= max;

	for (; good && *text; text++)
		good = isalnum((unsigned char)*text) || strchr(more, *text);
	return good;
}

static bool is_word(const char *value)
{
	return consists_of(value, "-+._", VALUE_MAX);
}

/*
 * Returns true for "none" or a positive number. The agent does not use the number: it computes the
 * reservation from the size (agent_reservation).
 */
static bool is_reservation(const char *value)
{
	return !strcmp(value, "none") || (consists_of(value, "", 20) && atoll(value) > 0);
}

/* Returns true for uid:gid:mode: decimal, decimal and octal, each part may be empty. */
static bool is_root(const char *value)
{
	const char *group = strchr(value, ':'), *mode = group ? strchr(group + 1, ':') : NULL;

	return mode && consists_of(value, ":", VALUE_MAX) &&
	       strspn(value, "0123456789") == (size_t)(group - value) &&
	       strspn(group + 1, "0123456789") == (size_t)(mode - group - 1) &&
	       strspn(mode + 1, "01234567") == strlen(mode + 1);
}

static bool is_schedule(const char *value)
{
	struct schedule ignored;

	return schedule_parse(value, &ignored);
}

static const struct {
	const char *name;
	bool (*allows)(const char *value);
} table[] = {
	{"acltype", is_word},
	{"atime", is_word},
	{"checksum", is_word},
	{"compression", is_word},
	{"copies", is_word},
	{"dnodesize", is_word},
	{"encryption", is_word},
	{"logbias", is_word},
	{"primarycache", is_word},
	{"recordsize", is_word},
	{"refreservation", is_reservation},
	{"relatime", is_word},
	{"secondarycache", is_word},
	{"snapdir", is_word},
	{"special_small_blocks", is_word},
	{"sync", is_word},
	{"volblocksize", is_word},
	{"xattr", is_word},
	{"zcsi:keep", is_schedule},
	{"zcsi:root", is_root},
};

const char *property_native(size_t number)
{
	return number < COUNT(table) && !strchr(table[number].name, ':') ? table[number].name
									 : NULL;
}

/* Check a user property that is not zcsi's own, like com.sun:auto-snapshot. */
static int check_user(const Property *property, struct error *err)
{
	const char *name = property->name;
	bool good = islower((unsigned char)*name) && strncmp(name, "zcsi:", strlen("zcsi:")) != 0 &&
		    consists_of(name, ":._-+", USER_NAME_MAX);

	for (const char *c = name; good && *c; c++)
		good = !isupper((unsigned char)*c);
	if (!good)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "property '%.64s' is not one that a volume may set", name);
	good = *property->value && strlen(property->value) <= USER_VALUE_MAX;
	for (const char *c = property->value; good && *c; c++)
		good = !utf8_control(c);
	if (!good)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "property '%s' needs a value of 1 to %d bytes, without control "
			    "characters",
			    name, USER_VALUE_MAX);
	return 0;
}

int property_check(const Property *property, struct error *err)
{
	for (size_t i = 0; i < COUNT(table); i++) {
		if (strcmp(table[i].name, property->name) != 0)
			continue;
		if (table[i].allows(property->value))
			return 0;
		return fail(err, ERR_INVALID_ARGUMENT, "property '%s' cannot be '%.64s'",
			    property->name, property->value);
	}
	if (!strchr(property->name, ':'))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "property '%.64s' is not one that a volume may set", property->name);
	return check_user(property, err);
}
