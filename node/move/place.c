/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Reading the place of a volume with `zfs list`.
 *
 * Invariant: the place is read from ZFS each time, and nothing of it is cached, so a step of a move
 * depends on nothing but the pool. A record of a move counts only on a snapshot itself, not if it
 * is inherited.
 */
#include "node/move/place.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "node/record/dataset.h"
#include "node/record/ownership.h"
#include "node/replica/replica.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

#define OUTPUT_MAX ((size_t)64 << 20)

static const char columns[] = "name,guid,written,clones,type,volmode,refreservation,"
			      "receive_resume_token,encryptionroot,"
			      "zcsi:epoch,zcsi:moving,zcsi:members";

enum field {
	NAME,
	GUID,
	WRITTEN,
	CLONES,
	TYPE,
	VOLMODE,
	RESERVED,
	TOKEN,
	KEY,
	EPOCH,
	MOVING,
	MEMBERS,
	FIELDS
};

static bool is_set(const char *value)
{
	return *value && strcmp(value, "-") != 0;
}

static void add_snapshot(struct arena *arena, char *const *field, struct place *place)
{
	struct place_snapshot *row = &place->snapshots[place->n++];

	*row = (struct place_snapshot){.name = field[NAME],
				       .guid = strtoull(field[GUID], NULL, 10),
				       .written = strtoll(field[WRITTEN], NULL, 10),
				       .cloned = is_set(field[CLONES])};
	if (!mark_parse(arena, field[MOVING], &row->to, &row->epoch))
		row->to = NULL;
}

/* Look at the type first, because ZFS prints a volmode for a filesystem too. */
static enum place_device device_of(char *const *field)
{
	if (strcmp(field[TYPE], "volume") != 0)
		return DEVICE_NONE;
	return strcmp(field[VOLMODE], "none") == 0 ? DEVICE_HIDDEN : DEVICE_SHOWN;
}

/* Returns false if the record of the members cannot be read. */
static bool take_dataset(struct arena *arena, char *const *field, struct place *place)
{
	place->name = field[NAME];
	place->device = device_of(field);
	place->reserved = strtoll(field[RESERVED], NULL, 10) > 0;
	place->written = strtoll(field[WRITTEN], NULL, 10);
	place->token = is_set(field[TOKEN]);
	place->encrypted = is_set(field[KEY]);
	place->foreign_key = place->encrypted && strcmp(field[KEY], field[NAME]) != 0;
	place->epoch = strtoll(field[EPOCH], NULL, 10);
	return members_parse(arena, is_set(field[MEMBERS]) ? field[MEMBERS] : "", &place->members);
}

static bool split(char *line, char **ret)
{
	size_t n = 0;

	while (n < FIELDS && (ret[n] = strsep(&line, "\t")))
		n++;
	return n == FIELDS && !line;
}

bool place_parse(struct arena *arena, const char *dataset, char *text, struct place *ret)
{
	bool inherited = false;
	char *state, *field[FIELDS];
	size_t lines = 0;

	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	*ret = (struct place){.snapshots =
				      arena_alloc(arena, (lines + 1) * sizeof(*ret->snapshots))};
	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		if (!split(line, field))
			return false;
		if (strchr(field[NAME], '@')) {
			add_snapshot(arena, field, ret);
		} else if (strcmp(field[NAME], dataset) == 0) {
			inherited = is_set(field[MOVING]);
			if (!take_dataset(arena, field, ret))
				return false;
		} else {
			ret->children++;
		}
	}
	for (size_t i = 0; inherited && i < ret->n; i++)
		ret->snapshots[i].to = NULL;
	return ret->name;
}

/* Returns the lines of a dataset, its snapshots and the datasets below it; "" if there are none. */
static char *lines_of(struct arena *arena, const char *dataset, const char *text)
{
	size_t length = strlen(dataset), n = 0;
	char *lines = arena_alloc(arena, strlen(text) + 1);

	for (const char *line = text, *end; *line; line = end) {
		end = strchrnul(line, '\n');
		end += *end == '\n';
		if (strncmp(line, dataset, length) != 0 || !strchr("\t@/", line[length]))
			continue;
		memcpy(lines + n, line, (size_t)(end - line));
		n += (size_t)(end - line);
	}
	lines[n] = '\0';
	return lines;
}

/*
 * zfs looks for the volume first, and then for the copy. So a rename in between is not missed: a
 * volume that was not there can only have become a copy, unless another program makes it a volume
 * again at the same moment.
 */
int place_read(struct arena *arena, const char *parent, const char *id, struct place *ret,
	       struct error *err)
{
	const char *names[] = {dataset_name(arena, parent, id), replica_name(arena, parent, id)};
	const enum place_role roles[] = {PLACE_PRIMARY, PLACE_COPY};
	const char *argv[] = {"zfs",
			      "list",
			      "-Hp",
			      "-d",
			      "1",
			      "-t",
			      "filesystem,volume,snapshot",
			      "-s",
			      "createtxg",
			      "-o",
			      columns,
			      names[0],
			      names[1],
			      NULL};
	const struct exec exec = {.argv = argv, .max_output = OUTPUT_MAX};
	auto_free char *out = NULL;

	*ret = (struct place){.role = PLACE_NONE};
	int failed = zfs_run_once(&exec, &out, err);
	/* zfs fails also if only one of the two names exists, and then prints that one. */
	if (failed && (err->code != ERR_NOT_FOUND || !out || !*out))
		return zfs_is_missing(parent, err);
	for (size_t i = 0; i < COUNT(names); i++) {
		char *lines = lines_of(arena, names[i], out);
		if (!*lines)
			continue;
		if (!place_parse(arena, names[i], lines, ret))
			return fail(err, ERR_UNAVAILABLE,
				    "'zfs list' printed of '%s' what is not a volume; look at its "
				    "property zcsi:members",
				    names[i]);
		ret->role = roles[i];
		return 0;
	}
	return fail(err, ERR_UNAVAILABLE, "'zfs list' printed neither '%s' nor '%s'", names[0],
		    names[1]);
}

const struct place_snapshot *place_marked(const struct place *place)
{
	for (size_t i = place->n; i-- > 0;)
		if (place->snapshots[i].to)
			return place->snapshots[i].epoch == place->epoch + 1 ? &place->snapshots[i]
									     : NULL;
	return NULL;
}

const struct place_snapshot *place_snapshot(const struct place *place, uint64_t guid)
{
	for (size_t i = place->n; i-- > 0;)
		if (place->snapshots[i].guid == guid)
			return &place->snapshots[i];
	return NULL;
}

int64_t place_written_after(const struct place *place, const struct place_snapshot *snapshot)
{
	int64_t written = place->written;

	for (const struct place_snapshot *at = snapshot + 1; at < place->snapshots + place->n; at++)
		written += at->written;
	return written;
}

bool place_ends_with(const struct place *place, const struct place_snapshot *snapshot)
{
	return snapshot == place->snapshots + place->n - 1 && place->written == 0;
}
