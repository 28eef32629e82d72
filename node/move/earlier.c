/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Finding the volumes that were given up, by one `zfs get` of all copies on this host, and those
 * without a device, by one `zfs get` of its zvols.
 *
 * Invariant: a name in the output is only a candidate: whether the record of its move still counts
 * is read again (place.c). Only a move sets volmode=none on a volume with copies, so at the start
 * such a volume is one whose move did not end.
 */
#include "node/move/earlier.h"

#include <string.h>

#include "common/log.h"
#include "common/volume/escape.h"
#include "node/attach/device.h"
#include "node/move/place.h"
#include "node/replica/replica.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

/* Add a volume to the rows, unless it is one already or its copy has no valid record of a move. */
static int add(struct arena *arena, const char *parent, const char *id, struct earlier *rows,
	       size_t *ret_n, struct error *err)
{
	struct place place;

	for (size_t i = 0; i < *ret_n; i++)
		if (strcmp(rows[i].id, id) == 0)
			return 0;
	if (place_read(arena, parent, id, &place, err) < 0)
		return -1;
	const struct place_snapshot *end = place_marked(&place);
	if (place.role == PLACE_COPY && end)
		rows[(*ret_n)++] = (struct earlier){id, end->to};
	return 0;
}

/*
 * Parse lines of a name, a property and its value. zfs lists a dataset before its snapshots, so the
 * id of a volume comes before the record of its snapshot.
 */
static int parse(struct arena *arena, const char *parent, char *text, struct earlier *rows,
		 size_t *ret_n, struct error *err)
{
	const char *id = NULL, *dataset = "";
	char *state;

	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		const char *name = strsep(&line, "\t"), *property = strsep(&line, "\t");
		if (!property || !line)
			continue;
		size_t length = strcspn(name, "@");
		if (!name[length] && strcmp(property, "zcsi:volume") == 0) {
			dataset = name;
			id = unescape_text(arena, line);
		} else if (name[length] && strcmp(property, "zcsi:moving") == 0 && id &&
			   strlen(dataset) == length && !strncmp(dataset, name, length) &&
			   add(arena, parent, id, rows, ret_n, err) < 0) {
			return -1;
		}
	}
	return 0;
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

bool earlier_may_be(void)
{
	return !ssh_server() && zfs_is_the_kernels();
}

int earlier_read(struct arena *arena, const char *parent, struct earlier **ret, size_t *ret_n,
		 struct error *err)
{
	const char *folder = arena_printf(arena, "%s/" REPLICA_FOLDER, parent);
	const char *argv[] = {"zfs",
			      "get",
			      "-Hp",
			      "-s",
			      "local",
			      "-d",
			      "2",
			      "-t",
			      "filesystem,volume,snapshot",
			      "-o",
			      "name,property,value",
			      "zcsi:volume,zcsi:moving",
			      folder,
			      NULL};
	const struct exec exec = {.argv = argv, .max_output = ZFS_LIST_OUTPUT_MAX};
	auto_free char *out = NULL;

	*ret_n = 0;
	if (zfs_run_once(&exec, &out, err) < 0)
		return zfs_is_missing(parent, err);
	*ret = arena_alloc(arena, (count_lines(out) + 1) * sizeof(**ret));
	return parse(arena, parent, arena_strdup(arena, out), *ret, ret_n, err);
}

static int show(const char *name, struct error *err)
{
	if (device_show(name, err) == 0) {
		log_info("device of a volume is restored after an interrupted move",
			 log_str("dataset", name));
		return 0;
	}
	if (err->code == ERR_UNAVAILABLE)
		return -1;
	log_warn("cannot restore the device of a volume after an interrupted move",
		 log_str("dataset", name), log_str("error", err->text));
	return 0;
}

/*
 * Parse lines of a name, a property and its value, and give each hidden zvol with zcsi:members its
 * device. zfs prints zcsi:members before volmode. A hidden zvol without members was hidden by an
 * operator, because it cannot move.
 */
static int show_all(char *text, struct error *err)
{
	const char *member = "";
	char *state;

	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		const char *name = strsep(&line, "\t"), *property = strsep(&line, "\t");
		if (!property || !line)
			continue;
		if (strcmp(property, "zcsi:members") == 0)
			member = name;
		else if (strcmp(member, name) == 0 && strcmp(line, "none") == 0 &&
			 show(name, err) < 0)
			return -1;
	}
	return 0;
}

int earlier_show(struct arena *arena, const char *parent, struct error *err)
{
	const char *argv[] = {"zfs",
			      "get",
			      "-Hp",
			      "-s",
			      "local",
			      "-d",
			      "1",
			      "-t",
			      "volume",
			      "-o",
			      "name,property,value",
			      "zcsi:members,volmode",
			      parent,
			      NULL};
	const struct exec exec = {.argv = argv, .max_output = ZFS_LIST_OUTPUT_MAX};
	auto_free char *out = NULL;

	if (zfs_run_once(&exec, &out, err) < 0)
		return -1;
	return show_all(arena_strdup(arena, out), err);
}
