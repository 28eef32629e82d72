/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Reading the pool with zfs(8) and zpool(8).
 *
 * Invariant: no function changes the pool. zfs_read leaves out a name that does not exist; the
 * other functions fail then.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/log.h"
#include "common/volume/escape.h"
#include "node/record/zfs_row.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

/* 64 names with 22 properties of 8 KiB, the longest that ZFS has. */
#define NAMES_OUTPUT_MAX ((size_t)12 << 20)

char *zfs_read_marker(struct arena *arena)
{
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		abort();
	return arena_printf(arena, "zcsi:%016" PRIx64 "%016" PRIx64, random[0], random[1]);
}

/* Returns the list of properties to read. */
static char *wanted(struct arena *arena)
{
	return zfs_row_properties(arena, zfs_read_marker(arena), zfs_is_the_kernels());
}

int zfs_fail_rejected(struct error *err)
{
	return fail(err, ERR_UNAVAILABLE,
		    "zfs printed the properties of a dataset twice or not to their end, as if a "
		    "value was made to look like its output; try again");
}

int zfs_fail_damaged(const char *name, struct error *err)
{
	return fail(err, ERR_UNAVAILABLE,
		    "'%s' has a zcsi: property with a line break or another control character in "
		    "its value; find it with 'zfs get all %s' and remove it with 'zfs inherit "
		    "zcsi:PROPERTY %s'",
		    name, name, name);
}

/* Fail if the output cannot be used, and log what is left out of it. */
static int check(const char *parent, const struct listing *listing, bool accepted,
		 struct error *err)
{
	struct error damage;

	if (!accepted)
		return zfs_fail_rejected(err);
	if (listing_is_damaged(listing, parent))
		return zfs_fail_damaged(parent, err);
	if (listing->n_damaged) {
		zfs_fail_damaged(listing->damaged[0], &damage);
		log_warn("datasets with damaged properties are ignored",
			 log_int("datasets", (long long)listing->n_damaged),
			 log_str("first", damage.text));
	}
	return 0;
}

/*
 * Run a `zfs get` of these properties and parse its output into *ret, which then owns the text.
 * all_there: fail if a name does not exist; otherwise only if the parent does not exist.
 */
static int get(struct arena *arena, const char *parent, const char *properties,
	       const struct exec *exec, bool all_there, struct listing *ret, struct error *err)
{
	auto_free char *out = NULL;

	int failed = zfs_run_once(exec, &out, err);
	if (failed && (all_there || !out || err->code != ERR_NOT_FOUND))
		return -1;
	bool accepted = listing_parse(arena, parent, properties, out, ret);
	if (check(parent, ret, accepted, err) < 0 || (failed && !ret->parent))
		return -1;
	ret->text = steal_ptr(out);
	return 0;
}

/*
 * Run a `zfs get` that may read any number of snapshots, like get. Its last argument is the name
 * that is printed first, so a program that prints anything else is stopped at once.
 */
static int get_all(struct arena *arena, const char *parent, const char *properties,
		   const char *const *argv, size_t max_output, struct listing *ret,
		   struct error *err)
{
	const char *name = *argv;

	for (const char *const *word = argv; *word; word++)
		name = *word;
	const struct exec exec = {.argv = argv,
				  .timeout_ms = zfs_run_list_timeout(),
				  .max_output = max_output,
				  .begins = arena_printf(arena, "%s\t", name)};

	return get(arena, parent, properties, &exec, true, ret, err);
}

int zfs_no_parent(const char *parent, struct error *err)
{
	return fail(err, ERR_UNAVAILABLE,
		    "there is no dataset '%s' on this host; create it with 'zfs create -p "
		    "-o mountpoint=none %s'",
		    parent, parent);
}

int zfs_list(struct arena *arena, const char *parent, struct listing *ret, struct error *err)
{
	const char *properties = wanted(arena);
	const char *argv[] = {"zfs",      "get",  "-rHp", "-o", "name,property,value,source",
			      properties, parent, NULL};

	return get_all(arena, parent, properties, argv, ZFS_POOL_OUTPUT_MAX, ret, err);
}

int zfs_list_children(struct arena *arena, const char *parent, struct listing *ret,
		      struct error *err)
{
	const char *properties = wanted(arena);
	const char *argv[] = {"zfs",
			      "get",
			      "-Hp",
			      "-d",
			      "1",
			      "-t",
			      "filesystem,volume",
			      "-o",
			      "name,property,value,source",
			      properties,
			      parent,
			      NULL};

	return get_all(arena, parent, properties, argv, ZFS_LIST_OUTPUT_MAX, ret, err);
}

int zfs_parent(const char *parent, char **ret, struct error *err)
{
	const char *properties = zfs_is_the_kernels()
					 ? "type,canmount,mountpoint,readonly,keystatus"
					 : "type,canmount,mountpoint,readonly";
	const char *argv[] = {"zfs",      "get",  "-Hp", "-o", "property,value",
			      properties, parent, NULL};

	return zfs_run_once(&(struct exec){.argv = argv}, ret, err);
}

int zfs_allow(const char *parent, char **ret, struct error *err)
{
	const char *argv[] = {"zfs", "allow", parent, NULL};

	return zfs_run_once(&(struct exec){.argv = argv}, ret, err);
}

int zfs_read(struct arena *arena, const char *parent, const char *const *names, size_t n,
	     struct listing *ret, struct error *err)
{
	const char *properties = wanted(arena);
	const char **argv = arena_alloc(arena, (n + 8) * sizeof(*argv));
	size_t used = 0;

	for (const char *const *word =
		     (const char *const[]){"zfs", "get", "-Hp", "-o", "name,property,value,source",
					   properties, parent, NULL};
	     *word; word++)
		argv[used++] = *word;
	for (size_t i = 0; i < n; i++)
		argv[used++] = names[i];
	const struct exec exec = {.argv = argv, .max_output = NAMES_OUTPUT_MAX};

	return get(arena, parent, properties, &exec, false, ret, err);
}

int zfs_read_family(struct arena *arena, const char *parent, const char *name, struct listing *ret,
		    struct error *err)
{
	const char *properties = wanted(arena);
	const char *argv[] = {
		"zfs",      "get", "-Hp", "-d", "1", "-o", "name,property,value,source",
		properties, name,  NULL};

	return get_all(arena, parent, properties, argv, ZFS_LIST_OUTPUT_MAX, ret, err);
}

int zfs_read_pool(const char *parent, struct zfs_pool *ret, struct error *err)
{
	char pool[DATASET_NAME_MAX + 1];
	auto_free char *out = NULL;

	snprintf(pool, sizeof(pool), "%.*s", (int)strcspn(parent, "/"), parent);
	/* zfs-fuse lacks -H and -p, so the output is a headline, then "pool guid 123 default". */
	const char *argv[] = {"zpool", "get", "guid,health", pool, NULL};
	if (zfs_run_once(&(struct exec){.argv = argv}, &out, err) < 0) {
		if (strstr(err->text, "no such pool"))
			fail(err, ERR_UNAVAILABLE,
			     "there is no pool '%s' on this host; import it with 'zpool import "
			     "%s', or create one with 'zpool create'",
			     pool, pool);
		return -1;
	}
	const char *line = strchr(out, '\n');
	if (!line ||
	    sscanf(line, "%*s guid %" SCNu64 " %*s %*s health %15s", &ret->guid, ret->health) != 2)
		return fail(err, ERR_INTERNAL, "zpool printed no guid and health of the pool '%s'",
			    pool);
	if (!strcmp(ret->health, "SUSPENDED"))
		return fail(err, ERR_UNAVAILABLE,
			    "the pool '%s' is suspended; repair the devices that 'zpool status %s' "
			    "shows as failed and run 'zpool clear %s'",
			    pool, pool, pool);
	return 0;
}

int zfs_freeing(const char *parent, int64_t *ret, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const char *pool = arena_printf(&arena, "%.*s", (int)strcspn(parent, "/"), parent);
	const char *argv[] = {"zpool", "get", "-Hp", "-o", "value", "freeing", pool, NULL};
	auto_free char *out = NULL;

	*ret = 0;
	if (!zfs_is_the_kernels())
		return 0;
	if (zfs_run_once(&(struct exec){.argv = argv}, &out, err) < 0)
		return -1;
	/* Without async_destroy, zfs destroy frees the space itself, and zpool prints "-". */
	*ret = zfs_row_number(out);
	return 0;
}

int zfs_is_missing(const char *parent, struct error *err)
{
	struct zfs_pool ignored;

	return err->code == ERR_NOT_FOUND ? zfs_read_pool(parent, &ignored, err) : -1;
}

/* *ret is the value of a property; the caller frees it. */
static int get_value(const char *name, const char *property, char **ret, struct error *err)
{
	const char *argv[] = {"zfs", "get", "-Hp", "-o", "value", property, name, NULL};

	return zfs_run_once(&(struct exec){.argv = argv}, ret, err);
}

static int get_number(const char *name, const char *property, uint64_t *ret, struct error *err)
{
	auto_free char *value = NULL;

	if (get_value(name, property, &value, err) < 0)
		return -1;
	*ret = strtoull(value, NULL, 10);
	return 0;
}

int zfs_userrefs(const char *name, uint64_t *ret, struct error *err)
{
	return get_number(name, "userrefs", ret, err);
}

int zfs_guid(const char *name, uint64_t *ret, struct error *err)
{
	return get_number(name, "guid", ret, err);
}

int zfs_mounted(const char *name, bool *ret, struct error *err)
{
	auto_free char *value = NULL;

	if (get_value(name, "mounted", &value, err) < 0)
		return -1;
	*ret = !strncmp(value, "yes", 3);
	return 0;
}

/* The source comes first, so that no value can look like a source. A value may have line breaks. */
int zfs_is_volume(const char *name, const char *id, bool *ret, struct error *err)
{
	const char *argv[] = {"zfs", "get", "-Hp", "-o", "source,value", "zcsi:volume", name, NULL};
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	auto_free char *out = NULL;

	*ret = false;
	if (zfs_run_once(&(struct exec){.argv = argv}, &out, err) < 0)
		return err->code == ERR_NOT_FOUND ? 0 : -1;
	*ret = !strcmp(out, arena_printf(&arena, "local\t%s\n", escape_text(&arena, id)));
	return 0;
}

int zfs_members(const char *name, char **ret, struct error *err)
{
	const char *argv[] = {"zfs", "get",   "-Hp",          "-s", "local",
			      "-o",  "value", "zcsi:members", name, NULL};

	if (zfs_run_once(&(struct exec){.argv = argv}, ret, err) < 0)
		return -1;
	char *end = strchrnul(*ret, '\n');
	if (*end && end[1])
		return zfs_fail_damaged(name, err);
	*end = '\0';
	return 0;
}

int zfs_volsize(const char *name, int64_t *ret, struct error *err)
{
	auto_free char *value = NULL;

	if (get_value(name, "volsize", &value, err) < 0)
		return -1;
	*ret = (int64_t)strtoull(value, NULL, 10);
	if (*ret <= 0)
		return fail(err, ERR_INTERNAL, "zfs printed no volsize of '%s'", name);
	return 0;
}

int zfs_refreservation(const char *name, int64_t *ret, struct error *err)
{
	auto_free char *value = NULL;

	if (get_value(name, "refreservation", &value, err) < 0)
		return -1;
	*ret = (int64_t)strtoull(value, NULL, 10);
	return 0;
}
