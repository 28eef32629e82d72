/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Parsing the parameters of a request.
 *
 * The canonical text is stored with the volume and never changes, so that a repeated CreateVolume
 * is compared with the original parameters, even if they were modified since. Invariant: the text
 * has one line "key=value" for each key, sorted. A key that a later version adds does not change
 * the result of a comparison, because a missing key counts as its default.
 */
#include "controller/request/parameters.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/volume/escape.h"
#include "controller/request/parameter_table.h"

/* The prefix of keys that the sidecars of Kubernetes add. Only the name of the claim is kept. */
#define SIDECAR_PREFIX "csi.storage.k8s.io/"
#define CLAIM_PROPERTY "kubernetes:claim"

/* The canonical text is stored in one property, and ZFS accepts less than 8 KiB. */
#define TEXT_MAX       8000

#define BACKUP_EVERY   86400 /* seconds, if a backup has no backup_every */
#define SYNC_EVERY     300   /* seconds, if a volume with copies has no sync_every */

/* Pairs of values that contradict each other. The values are globs. */
static const struct {
	const char *key, *value, *other, *other_value, *why;
} conflicts[] = {
	{"zfs.relatime", "on", "zfs.atime", "off", "relatime needs access times"},
	{"attach", "nfs", "zfs.encryption", "*",
	 "an export must return without a key after a boot"},
	{"zfs.acltype", "posix*", "zfs.xattr", "off", "ACLs are stored in extended attributes"},
};

static bool is_sidecars(const char *key)
{
	return strncmp(key, SIDECAR_PREFIX, strlen(SIDECAR_PREFIX)) == 0;
}

static int check_size(const struct map *map, struct error *err)
{
	if (map_size(map) > MAP_SIZE_MAX)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "parameters have %zu bytes; at most %d are accepted", map_size(map),
			    MAP_SIZE_MAX);
	return 0;
}

static int check_mutable(const char *key, struct error *err)
{
	const struct parameter *row = parameter_find(key);

	if (row->mutable)
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "parameter '%s' cannot be changed on an existing volume: %s", key,
		    row->instead ? row->instead : "give it among the parameters of a new one");
}

static int check(const struct map *map, bool mutable, struct error *err)
{
	if (check_size(map, err) < 0)
		return -1;
	for (size_t i = 0; i < map->n; i++) {
		const struct map_pair *pair = &map->pairs[i];
		if (is_sidecars(pair->key))
			continue;
		if (parameter_check(pair->key, pair->value, err) < 0 ||
		    (mutable && check_mutable(pair->key, err) < 0))
			return -1;
	}
	return 0;
}

static int check_conflicts(const struct map *map, struct error *err)
{
	for (size_t i = 0; i < COUNT(conflicts); i++) {
		const char *value = map_get(map, conflicts[i].key);
		const char *other = map_get(map, conflicts[i].other);
		if (value && other && fnmatch(conflicts[i].value, value, 0) == 0 &&
		    fnmatch(conflicts[i].other_value, other, 0) == 0)
			return fail(err, ERR_INVALID_ARGUMENT,
				    "parameters %s=%s and %s=%s contradict each other: %s",
				    conflicts[i].key, value, conflicts[i].other, other,
				    conflicts[i].why);
	}
	return 0;
}

/* Check that backup_every and backup_keep are given only with the parameter backup. */
static int check_backup(const struct map *map, struct error *err)
{
	const char *alone = map_get(map, "backup_every")  ? "backup_every"
			    : map_get(map, "backup_keep") ? "backup_keep"
							  : NULL;

	if (!alone || map_get(map, "backup"))
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "parameter %s needs the parameter backup, the node that keeps the backup",
		    alone);
}

int parameters_check_none(struct map map, const char *what, struct error *err)
{
	if (check_size(&map, err) < 0)
		return -1;
	for (size_t i = 0; i < map.n; i++)
		if (!is_sidecars(map.pairs[i].key))
			return fail(err, ERR_INVALID_ARGUMENT,
				    "parameter '%.128s' is unknown: %s has none", map.pairs[i].key,
				    what);
	return 0;
}

/* Insert a pair in the order of keys, or replace the one with its key. The array has room. */
static void put(struct map_pair *pairs, size_t *n, const char *key, const char *value)
{
	size_t at = *n;

	while (at > 0 && strcmp(key, pairs[at - 1].key) < 0)
		at--;
	if (at == 0 || strcmp(key, pairs[at - 1].key) != 0) {
		memmove(&pairs[at + 1], &pairs[at], (*n - at) * sizeof(*pairs));
		(*n)++;
		at++;
	}
	pairs[at - 1] = (struct map_pair){.key = key, .value = value};
}

/*
 * Returns the union of both maps, in which `second` overrides `first`, without the sidecars' keys.
 * Defaults are added for missing keys if `defaults` is true.
 */
static struct map overlay(struct arena *arena, bool defaults, struct map first, struct map second)
{
	const struct map layers[] = {first, second};
	size_t room = parameter_count + first.n + second.n, n = 0;
	struct map_pair *pairs = arena_alloc(arena, room * sizeof(*pairs));

	for (size_t i = 0; defaults && i < parameter_count; i++)
		if (parameter_table[i].fallback)
			put(pairs, &n, parameter_table[i].key, parameter_table[i].fallback);
	for (size_t i = 0; i < COUNT(layers); i++)
		for (size_t k = 0; k < layers[i].n; k++)
			if (!is_sidecars(layers[i].pairs[k].key))
				put(pairs, &n, layers[i].pairs[k].key, layers[i].pairs[k].value);
	return (struct map){.pairs = pairs, .n = n};
}

static void add_property(struct arena *arena, struct parameters *to, const char *name,
			 const char *value)
{
	Property *property = new_property(arena);

	property->name = arena_strdup(arena, name);
	property->value = arena_strdup(arena, value);
	to->properties[to->n_properties++] = property;
}

/* Add owner, group and mode of the root directory, applied by the node that mounts it first. */
static void add_root(struct arena *arena, struct parameters *to, const struct map *map)
{
	const char *owner = map_get(map, "owner"), *group = map_get(map, "group");
	const char *mode = map_get(map, "mode");

	if (owner || group || mode)
		add_property(arena, to, "zcsi:root",
			     arena_printf(arena, "%s:%s:%s", owner ? owner : "", group ? group : "",
					  mode ? mode : ""));
}

/* Returns the number of names in a list with ',' between them. */
static unsigned count_names(const char *names)
{
	unsigned n = 1;

	for (; *names; names++)
		n += *names == ',';
	return n;
}

/* Fill in the fields about copies. The default of replicas is the number of members, or 1. */
static void take_copies(const struct map *map, struct parameters *ret)
{
	const char *replicas = map_get(map, "replicas"), *every = map_get(map, "sync_every");
	const char *bandwidth = map_get(map, "bandwidth"), *pin_limit = map_get(map, "pin_limit");
	const char *repair = map_get(map, "repair_after");

	ret->members = map_get(map, "members");
	ret->snapshots = map_get(map, "snapshots");
	ret->follow = map_get(map, "follow");
	ret->replicas = replicas       ? (unsigned)atoi(replicas)
			: ret->members ? count_names(ret->members)
				       : 1;
	ret->sync_every = every ? (unsigned)parameter_value_seconds(every) : 0;
	ret->pin_limit = pin_limit ? (unsigned)parameter_value_seconds(pin_limit) : 0;
	if (repair)
		ret->repair_after = strcmp(repair, "never") != 0
					    ? (int64_t)parameter_value_seconds(repair)
					    : -1;
	if (bandwidth)
		ret->bandwidth = strcmp(bandwidth, "none") != 0
					 ? (int64_t)parameter_value_bytes(bandwidth)
					 : -1;
}

/* Fill in the fields about the backup, which runs once a day if backup_every is not given. */
static void take_backup(const struct map *map, struct parameters *ret)
{
	const char *every = map_get(map, "backup_every"), *keep = map_get(map, "backup_keep");

	ret->backup = map_get(map, "backup");
	ret->backup_every = every ? (unsigned)parameter_value_seconds(every) : BACKUP_EVERY;
	ret->backup_keep = keep ? keep : "";
}

/*
 * Add the PersistentVolumeClaim for which Kubernetes asks for the volume, as NAMESPACE/NAME. The
 * volume itself is named by an id of Kubernetes, and its dataset may outlive all of its objects.
 */
static void add_claim(struct arena *arena, const struct map *map, struct parameters *to)
{
	const char *name = map_get(map, SIDECAR_PREFIX "pvc/name");
	const char *namespace = map_get(map, SIDECAR_PREFIX "pvc/namespace");

	if (name && namespace)
		add_property(arena, to, CLAIM_PROPERTY,
			     arena_printf(arena, "%s/%s", namespace, name));
}

static void resolve(struct arena *arena, const struct map *map, struct parameters *ret)
{
	const char *provisioning = map_get(map, "provisioning");

	*ret = (struct parameters){
		.text = arena_strdup(arena, ""),
		.thick = provisioning && strcmp(provisioning, "thick") == 0,
		.encrypted = map_get(map, "zfs.encryption") != NULL,
		.node = map_get(map, "node"),
		.pool = map_get(map, "pool"),
		.properties = arena_alloc(arena, (map->n + 2) * sizeof(Property *)),
	};
	for (size_t i = 0; i < map->n; i++) {
		const char *key = map->pairs[i].key, *value = map->pairs[i].value;
		const char *property = parameter_property(parameter_find(key), key);

		ret->text = arena_printf(arena, "%s%s=%s\n", ret->text, key, value);
		if (property)
			add_property(arena, ret, property, value);
	}
	add_root(arena, ret, map);
	take_copies(map, ret);
	take_backup(map, ret);
}

int parameters_parse(struct arena *arena, struct map map, struct map mutable,
		     struct parameters *ret, struct error *err)
{
	if (check(&map, false, err) < 0 || check(&mutable, true, err) < 0)
		return -1;
	struct map all = overlay(arena, true, map, mutable);
	if (check_conflicts(&all, err) < 0 || check_backup(&all, err) < 0)
		return -1;
	resolve(arena, &all, ret);
	add_claim(arena, &map, ret);
	size_t size = strlen(escape_text(arena, ret->text));
	if (size > TEXT_MAX)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "parameters take %zu bytes in a property of ZFS, which holds %d: "
			    "shorten zfs.user.*",
			    size, TEXT_MAX);
	return 0;
}

int parameters_parse_mutable(struct arena *arena, struct map mutable, struct parameters *ret,
			     struct error *err)
{
	if (check(&mutable, true, err) < 0)
		return -1;
	struct map all = overlay(arena, false, (struct map){0}, mutable);
	if (check_conflicts(&all, err) < 0)
		return -1;
	resolve(arena, &all, ret);
	ret->replicas = map_get(&all, "replicas") ? ret->replicas : 0;
	return 0;
}

/* Set the requested properties in the request, and the reservation of a thick volume. */
static void set_properties(struct arena *arena, const struct parameters *parameters,
			   CreateDatasetRequest *request)
{
	size_t n = parameters->n_properties;

	request->properties = arena_alloc(arena, (n + 1) * sizeof(*request->properties));
	for (size_t i = 0; i < n; i++)
		request->properties[i] = parameters->properties[i];
	if (parameters->thick) {
		request->properties[n] = new_property(arena);
		request->properties[n]->name = arena_strdup(arena, "refreservation");
		request->properties[n]->value = arena_printf(arena, "%" PRId64, request->size);
		n++;
	}
	request->n_properties = n;
}

void parameters_create(struct arena *arena, const struct parameters *parameters,
		       CreateDatasetRequest *request)
{
	request->parameters = parameters->text;
	set_properties(arena, parameters, request);
	if (parameters->bandwidth > 0)
		request->bandwidth = parameters->bandwidth;
	if (parameters->snapshots)
		request->snapshots = (char *)parameters->snapshots;
	if (parameters->follow)
		request->follow = (char *)parameters->follow;
	if (parameters->repair_after > 0)
		request->repair_after = parameters->repair_after;
	request->sync_every = parameters->sync_every;
	request->pin_limit = parameters->pin_limit;
	if (parameters->replicas > 1 && !request->sync_every)
		request->sync_every = SYNC_EVERY;
}

void parameters_modify(const struct parameters *parameters, ModifyDatasetRequest *request)
{
	request->n_properties = parameters->n_properties;
	request->properties = parameters->properties;
	request->sync_every = parameters->sync_every;
	request->pin_limit = parameters->pin_limit;
	request->repair_after = parameters->repair_after;
	request->bandwidth = parameters->bandwidth;
	if (parameters->snapshots)
		request->snapshots = (char *)parameters->snapshots;
	if (parameters->follow)
		request->follow = (char *)parameters->follow;
}

bool parameters_about_copies(const ModifyDatasetRequest *request)
{
	return request->replicas > 1 || request->sync_every || request->bandwidth ||
	       request->pin_limit || request->repair_after || *request->snapshots ||
	       *request->follow;
}

/* Returns the lines "key=value" of the text as a map. A line without '=' has an empty value. */
static struct map lines_of(struct arena *arena, const char *text)
{
	char *rest = arena_strdup(arena, text);
	struct map_pair *pairs = arena_alloc(arena, (strlen(text) / 2 + 1) * sizeof(*pairs));
	size_t n = 0;

	for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
		const char *key = strsep(&line, "=");
		if (*key)
			put(pairs, &n, key, line ? line : "");
	}
	return (struct map){.pairs = pairs, .n = n};
}

int parameters_parse_text(struct arena *arena, const char *text, const char *except,
			  struct parameters *ret, struct error *err)
{
	struct map lines = lines_of(arena, text);
	struct map_pair *pairs = arena_alloc(arena, (lines.n + 1) * sizeof(*pairs));
	size_t n = 0;

	for (size_t i = 0; i < lines.n; i++)
		if (strcmp(lines.pairs[i].key, except) != 0)
			pairs[n++] = lines.pairs[i];
	return parameters_parse(arena, (struct map){.pairs = pairs, .n = n}, (struct map){0}, ret,
				err);
}

int parameters_check_format(struct arena *arena, const struct parameters *parameters,
			    const struct format *format, struct error *err)
{
	struct map lines = lines_of(arena, parameters->text);
	const char *attach = map_get(&lines, "attach");

	if (!format)
		return 0;
	if (format->zvol && attach && !strcmp(attach, "nfs"))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "parameter attach=nfs is refused: the volume is %s, which has no files "
			    "that NFS could share",
			    format->description);
	for (size_t i = 0; i < lines.n; i++) {
		const struct parameter *row = parameter_find(lines.pairs[i].key);
		if (row && !parameter_is_for(row, format))
			return fail(err, ERR_INVALID_ARGUMENT,
				    "parameter %s is refused: the volume is %s, which has no such "
				    "property",
				    lines.pairs[i].key, format->description);
	}
	return 0;
}

/* Returns the value of this key in a text, or its default; NULL for the default of ZFS. */
static const char *asked_by(const struct map *lines, const char *key)
{
	const char *value = map_get(lines, key);
	const struct parameter *row = value ? NULL : parameter_find(key);

	return row ? row->fallback : value;
}

const char *parameters_value(struct arena *arena, const char *text, const char *key)
{
	struct map lines = lines_of(arena, text);

	return asked_by(&lines, key);
}

char *parameters_difference(struct arena *arena, const char *is, const char *asked)
{
	struct map left = lines_of(arena, is), right = lines_of(arena, asked);
	struct map either = overlay(arena, false, left, right);

	for (size_t i = 0; i < either.n; i++) {
		const char *key = either.pairs[i].key;
		const char *has = asked_by(&left, key), *wants = asked_by(&right, key);
		if (!has && wants)
			return arena_printf(arena, "%s is not set, the request asks for '%s'", key,
					    wants);
		if (has && !wants)
			return arena_printf(arena, "%s is '%s', the request asks for none", key,
					    has);
		if (has && strcmp(has, wants) != 0)
			return arena_printf(arena, "%s is '%s', the request asks for '%s'", key,
					    has, wants);
	}
	return NULL;
}
