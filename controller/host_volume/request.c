/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Parsing Nomad's requests. Names and limits are those of Nomad's specification of host volume
 * plugins; parameters are those of CreateVolume.
 *
 * Invariant: a path that is accepted is absolute, and its last component is the UUID of the volume,
 * so no request mounts at, or removes, a directory that is not of this volume.
 */
#include "controller/host_volume/request.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "common/volume/map.h"
#include "controller/host_volume/pairs.h"
#include "controller/request/field.h"
#include "controller/volume.h"

#define SHORT_ID 8 /* as many digits of an id as Nomad prints */

static const char *const operations[] = {
	[FINGERPRINT] = "fingerprint", [CREATE] = "create", [DELETE] = "delete"};

int operation_parse(const char *name, enum operation *ret, struct error *err)
{
	for (size_t i = 0; i < COUNT(operations); i++) {
		if (strcmp(name, operations[i]) != 0)
			continue;
		*ret = (enum operation)i;
		return 0;
	}
	return fail(err, ERR_INVALID_ARGUMENT,
		    "operation '%.64s' is none of fingerprint, create and delete", name);
}

static bool is_uuid(const char *text)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	if (strlen(text) != strlen(form))
		return false;
	for (size_t i = 0; text[i]; i++) {
		const char *allowed = form[i] == '-' ? "-" : "0123456789abcdef";
		if (!strchr(allowed, text[i]))
			return false;
	}
	return true;
}

/* Returns true for an absolute path without empty, "." and ".." components. */
static bool is_plain(const char *path)
{
	if (*path != '/' || !path[1] || strlen(path) >= PATH_MAX - 64)
		return false;
	while (*path++) {
		size_t n = strcspn(path, "/");
		if (n == 0 || (n <= 2 && strspn(path, ".") == n))
			return false;
		path += n;
	}
	return true;
}

/* Returns true if the path is plain and its last component is the id. */
static bool is_of(const char *path, const char *id)
{
	const char *last = strrchr(path, '/');

	return last && last > path && strcmp(last + 1, id) == 0 && is_plain(path);
}

/* Returns a copy of the path without slashes at its end. */
static char *trimmed(struct arena *arena, const char *path)
{
	char *copy = arena_strdup(arena, path);

	for (size_t n = strlen(copy); n > 0 && copy[n - 1] == '/'; n--)
		copy[n - 1] = '\0';
	return copy;
}

/* Find the path: for DELETE the path that create answered, or else DHV_VOLUMES_DIR/ID. */
static int take_path(struct arena *arena, enum operation operation, char *get(const char *name),
		     struct request *ret, struct error *err)
{
	const char *created = get("DHV_CREATED_PATH"), *folder = get("DHV_VOLUMES_DIR");

	if (operation == DELETE && created && is_of(created, ret->id)) {
		ret->path = created;
		return 0;
	}
	ret->folder = trimmed(arena, folder ? folder : "");
	ret->path = arena_printf(arena, "%s/%s", ret->folder, ret->id);
	if (is_plain(ret->folder))
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "DHV_VOLUMES_DIR '%.128s' is not an absolute path: set host_volumes_dir in the "
		    "client block of Nomad's configuration",
		    folder ? folder : "");
}

/* Capacity */

/* A missing number is 0, which Nomad sends for a capacity that was not given. */
static int take_number(const char *variable, const char *text, int64_t *ret, struct error *err)
{
	char *end;

	errno = 0;
	*ret = text ? strtoll(text, &end, 10) : 0;
	if (!text || (*text >= '0' && *text <= '9' && !*end && !errno))
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT, "%s '%.64s' is not a number of bytes", variable,
		    text);
}

static int take_range(char *get(const char *name), struct request *ret, struct error *err)
{
	static const char min[] = "DHV_CAPACITY_MIN_BYTES", max[] = "DHV_CAPACITY_MAX_BYTES";
	CapacityRange range = CSI__V1__CAPACITY_RANGE__INIT;

	if (take_number(min, get(min), &range.required_bytes, err) < 0 ||
	    take_number(max, get(max), &range.limit_bytes, err) < 0)
		return -1;
	if (capacity_range_parse(&range, &ret->range, err) == 0)
		return 0;
	return fail_context(err, "capacity_min and capacity_max of the volume");
}

/* Parameters */

/* Returns a copy of the map with one more pair, in the order of keys. */
static struct map with(struct arena *arena, const struct map *map, const char *key,
		       const char *value)
{
	struct map_pair *pairs = arena_alloc(arena, (map->n + 1) * sizeof(*pairs));
	size_t n = 0;

	while (n < map->n && strcmp(map->pairs[n].key, key) < 0) {
		pairs[n] = map->pairs[n];
		n++;
	}
	pairs[n] = (struct map_pair){key, value};
	for (size_t i = n; i < map->n; i++)
		pairs[i + 1] = map->pairs[i];
	return (struct map){.pairs = pairs, .n = map->n + 1};
}

/* Refuse parameters that only a volume of CSI can have. */
static int check_parameters(struct arena *arena, const struct parameters *parameters,
			    struct error *err)
{
	const char *attach = parameters_value(arena, parameters->text, ATTACH_KEY);

	if (parameters->encrypted)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "parameter zfs.encryption is refused: Nomad gives no key to a host "
			    "volume; make a volume of CSI instead");
	if (attach && strcmp(attach, ATTACH_LOCAL) != 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "parameter attach=%s is refused: only the host that has a host volume "
			    "can use it; make a volume of CSI instead",
			    attach);
	if (parameters->replicas > 1 && !parameters->members)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "parameter replicas=%u does not say which nodes get a copy of a host "
			    "volume: give members, with the names of all of them",
			    parameters->replicas);
	if (parameters->backup)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "parameter backup=%s is refused: a host volume gets its backup by "
			    "'zcsi backup add', once it exists",
			    parameters->backup);
	return parameters_check_format(arena, parameters, format_find(FORMAT_ZFS), err);
}

static int take_parameters(struct arena *arena, char *get(const char *name), struct request *ret,
			   struct error *err)
{
	const char *text = get("DHV_PARAMETERS");
	struct map map = {0};

	if (text && *text && pairs_parse(arena, text, &map, err) < 0)
		return fail_context(err, "DHV_PARAMETERS is no object of texts");
	if (map_get(&map, ID_PARAMETER))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "parameter " ID_PARAMETER " is refused: it gets the volume's id");
	map = with(arena, &map, ID_PARAMETER, ret->id);
	if (parameters_parse(arena, map, (struct map){0}, &ret->parameters, err) < 0)
		return -1;
	return check_parameters(arena, &ret->parameters, err);
}

static int take_name(struct arena *arena, const char *name, struct request *ret, struct error *err)
{
	if (field_check_name("DHV_VOLUME_NAME", name, err) < 0)
		return -1;
	for (size_t i = 0; name[i];) {
		size_t n = utf8_sequence(&name[i], strlen(&name[i]));
		if (!n)
			return fail(err, ERR_INVALID_ARGUMENT,
				    "DHV_VOLUME_NAME is not UTF-8 at byte %zu", i);
		i += n;
	}
	ret->name = arena_printf(arena, "%s-%.*s", name, SHORT_ID, ret->id);
	return field_check_size("the name of the volume, with '-' and 8 digits of its id,",
				ret->name, err);
}

int request_parse(struct arena *arena, enum operation operation, char *get(const char *name),
		  struct request *ret, struct error *err)
{
	const char *id = get("DHV_VOLUME_ID");

	*ret = (struct request){.id = id};
	if (!id || !is_uuid(id))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "DHV_VOLUME_ID '%.64s' is not the id of a host volume of Nomad",
			    id ? id : "");
	if (take_path(arena, operation, get, ret, err) < 0)
		return -1;
	if (operation != CREATE)
		return 0;
	const char *name = get("DHV_VOLUME_NAME");
	if (take_name(arena, name ? name : "", ret, err) < 0 || take_range(get, ret, err) < 0)
		return -1;
	return take_parameters(arena, get, ret, err);
}
