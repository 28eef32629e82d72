/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Reading /proc/self/mountinfo (proc(5)):
 *
 *	36 35 98:0 /root /target rw,noatime shared:1 master:2 - zfs tank/p/a rw
 *
 * Invariant: a line of another form is skipped, so new fields of a new kernel cannot hide the
 * mounts of volumes.
 */
#include "node/mount/mountinfo.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include "node/mount/kind.h"
#include "node/record/share.h"
#include "node/mount/flags.h"

/* Decode \ and three octal digits, which stand for spaces, tabs, newlines and \, in place. */
static const char *unescape(char *text)
{
	char *out = text;

	for (const char *in = text; *in; out++) {
		if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] >= '0' && in[2] <= '7' &&
		    in[3] >= '0' && in[3] <= '7') {
			*out = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0'));
			in += 4;
		} else {
			*out = *in++;
		}
	}
	*out = '\0';
	return text;
}

/*
 * Returns the MOUNT_ATTR_ bits of mountinfo's options. A mount that shows neither relatime nor
 * noatime is strictatime.
 */
static uint64_t parse_options(char *text)
{
	uint64_t attrs = MOUNT_ATTR_STRICTATIME;
	char *option;

	while ((option = strsep(&text, ",")) != NULL)
		mount_attr_apply(option, &attrs);
	return attrs;
}

static dev_t parse_device(const char *text)
{
	char *rest;
	unsigned long major = strtoul(text, &rest, 10);
	unsigned long minor = *rest ? strtoul(rest + 1, NULL, 10) : 0;

	return makedev(major, minor);
}

static bool parse_line(char *line, struct mount *ret)
{
	char *field[6], *tag;

	for (size_t i = 0; i < COUNT(field); i++)
		if (!(field[i] = strsep(&line, " ")))
			return false;
	*ret = (struct mount){.id = atoi(field[0]),
			      .parent = atoi(field[1]),
			      .device = parse_device(field[2]),
			      .root = unescape(field[3]),
			      .target = unescape(field[4]),
			      .attrs = parse_options(field[5])};
	while ((tag = strsep(&line, " ")) != NULL && strcmp(tag, "-"))
		if (!strncmp(tag, "shared:", 7))
			ret->shared = atoi(tag + 7);
		else if (!strncmp(tag, "master:", 7))
			ret->master = atoi(tag + 7);
	char *type = strsep(&line, " ");
	char *source = strsep(&line, " ");
	if (!type || !source)
		return false;
	ret->type = unescape(type);
	ret->source = unescape(source);
	return true;
}

void mount_table_parse(struct arena *arena, char *text, struct mount_table *ret)
{
	size_t lines = 1;
	char *line;

	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	*ret = (struct mount_table){.rows = arena_alloc(arena, lines * sizeof(*ret->rows))};
	while ((line = strsep(&text, "\n")) != NULL)
		if (parse_line(line, &ret->rows[ret->n]))
			ret->n++;
}

/* Read to the end of the file: one read(2) returns at most a page. */
int mount_table_read_from(struct arena *arena, int fd, struct mount_table *ret, struct error *err)
{
	auto_fclose FILE *file = fdopen(fd, "r");
	auto_free char *text = NULL;
	size_t size = 0;

	if (!file || getdelim(&text, &size, '\0', file) < 0)
		return fail_errno(err, "cannot read mountinfo");
	mount_table_parse(arena, arena_strdup(arena, text), ret);
	return 0;
}

int mount_table_read(struct arena *arena, struct mount_table *ret, struct error *err)
{
	int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return fail_errno(err, "cannot read /proc/self/mountinfo");
	return mount_table_read_from(arena, fd, ret, err);
}

/*
 * Returns true if another mount is on top of this one at the same path. The order of the list does
 * not show that: a propagated mount is put below the existing one (Linux 4.9).
 */
static bool is_covered(const struct mount_table *table, const struct mount *mount)
{
	for (size_t i = 0; i < table->n; i++)
		if (table->rows[i].parent == mount->id &&
		    !strcmp(table->rows[i].target, mount->target))
			return true;
	return false;
}

const struct mount *mount_at(const struct mount_table *table, const char *path)
{
	for (size_t i = table->n; i-- > 0;)
		if (!strcmp(table->rows[i].target, path) && !is_covered(table, &table->rows[i]))
			return &table->rows[i];
	return NULL;
}

bool mount_is_staging(const struct mount *mount)
{
	return mount->shared && !mount->master;
}

/* Returns true if the root of the file system is mounted, and not a part of it. */
static bool is_whole(const struct mount *mount)
{
	return !strcmp(mount->root, "/");
}

bool mount_is_of(const struct mount *mount, const char *dataset)
{
	return mount_is_volume(mount, dataset) ||
	       (mount_is_network(mount) && is_whole(mount) &&
		share_kind(mount->source, dataset) == SHARE_FOREIGN);
}

const struct mount *mount_of(const struct mount_table *table, const char *dataset)
{
	for (size_t i = 0; i < table->n; i++)
		if (mount_is_volume(&table->rows[i], dataset) && is_whole(&table->rows[i]) &&
		    mount_at(table, table->rows[i].target) == &table->rows[i])
			return &table->rows[i];
	return NULL;
}

const struct mount *mount_of_source(const struct mount_table *table, const char *source)
{
	for (size_t i = 0; i < table->n; i++)
		if (!strcmp(table->rows[i].source, source) && is_whole(&table->rows[i]) &&
		    mount_format(&table->rows[i]) &&
		    mount_at(table, table->rows[i].target) == &table->rows[i])
			return &table->rows[i];
	return NULL;
}

const struct mount *mount_of_at(const struct mount_table *table, const char *dataset,
				const char *path)
{
	for (size_t i = table->n; i-- > 0;)
		if (mount_is_of(&table->rows[i], dataset) && !strcmp(table->rows[i].target, path))
			return &table->rows[i];
	return NULL;
}

const struct mount *mount_of_elsewhere(const struct mount_table *table, const char *dataset,
				       const char *path)
{
	for (size_t i = 0; i < table->n; i++)
		if (mount_is_volume(&table->rows[i], dataset) &&
		    !mount_is_staging(&table->rows[i]) && strcmp(table->rows[i].target, path))
			return &table->rows[i];
	return NULL;
}

const struct mount *mount_target_of(const struct mount_table *table, const struct mount *staging)
{
	for (size_t i = 0; staging->shared && i < table->n; i++)
		if (table->rows[i].master == staging->shared &&
		    strcmp(table->rows[i].target, staging->target) != 0)
			return &table->rows[i];
	return NULL;
}
