/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Reading which device of a pool is in trouble.
 *
 * Invariant: the device is a leaf of the pool's tree. In `zpool status` the devices below another
 * one are indented by more.
 */
#include "node/catalog/device.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "node/zfs/zfs_run.h"

#define STATUS_MAX 65536 /* how many bytes of `zpool status` are read */

static bool is_trouble(const char *state)
{
	static const char *const states[] = {"OFFLINE", "REMOVED", "UNAVAIL", "FAULTED",
					     "DEGRADED"};

	for (size_t i = 0; i < COUNT(states); i++)
		if (strcmp(state, states[i]) == 0)
			return true;
	return false;
}

/* Returns the next line of the tree, or NULL at its end. */
static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end && end[1] == '\t' ? end + 1 : NULL;
}

void device_parse(const char *printed, struct device *ret)
{
	const char *line = strstr(printed, "\n\tNAME ");
	struct device found;

	*ret = (struct device){.name = ""};
	for (line = line ? next_line(line + 1) : NULL; line; line = next_line(line)) {
		const char *next = next_line(line);
		size_t depth = strspn(line, "\t ");
		if (next && strspn(next, "\t ") > depth)
			continue;
		if (sscanf(line, "%255s %15s", found.name, found.state) == 2 &&
		    is_trouble(found.state)) {
			*ret = found;
			return;
		}
	}
}

void device_read(const char *parent, struct device *ret)
{
	auto_free char *pool = strndup(parent, strcspn(parent, "/")), *out = NULL;
	const char *argv[] = {"zpool", "status", pool, NULL};
	struct error ignored;

	*ret = (struct device){.name = ""};
	if (zfs_run_once(&(struct exec){.argv = argv, .max_output = STATUS_MAX}, &out, &ignored) ==
	    0)
		device_parse(out, ret);
}
