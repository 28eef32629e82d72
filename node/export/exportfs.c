/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Exporting by exportfs(8), and by a file in /etc/exports.d. The file is needed because `exportfs
 * -r`, which the start of the NFS server and `zfs share` run, drops an export that is in no file.
 * ZFS's property sharenfs is not used: it exports at the path in property mountpoint, which volumes
 * of this host do not have, and each change of it re-exports all shares of the host.
 *
 * Invariant: the file is written before exportfs runs, so every active export of a volume is in it.
 * The file has only exports of volumes; those of other tools are not changed.
 */
#include "node/export/exportfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/volume/escape.h"
#include "common/exec.h"

#define FOLDER      "/etc/exports.d"
#define ETAB        "/var/lib/nfs/etab" /* the active exports; exportfs maintains it */
#define THREADS     "/proc/fs/nfsd/threads"
#define EXPORTFS_MS 20000

/* *ret is the text of a file; "" if there is none. */
static int read_text(struct arena *arena, const char *path, const char **ret, struct error *err)
{
	auto_fclose FILE *file = fopen(path, "re");
	auto_free char *text = NULL;
	size_t size = 0;

	*ret = "";
	if (!file && errno == ENOENT)
		return 0;
	if (!file || (getdelim(&text, &size, '\0', file) < 0 && !feof(file)))
		return fail_errno(err, "cannot read '%s'", path);
	if (text)
		*ret = arena_strdup(arena, text);
	return 0;
}

static int read_table(struct arena *arena, const char *path, struct export_table *ret,
		      struct error *err)
{
	const char *text;

	if (read_text(arena, path, &text, err) < 0)
		return -1;
	export_table_parse(arena, text, ret);
	return 0;
}

int exportfs_active(struct arena *arena, struct export_table *ret, struct error *err)
{
	return read_table(arena, ETAB, ret, err);
}

static int run(const char *const *argv, struct error *err)
{
	const struct exec exec = {.argv = argv, .timeout_ms = EXPORTFS_MS};
	struct exec_result result = {0};

	if (exec_run(&exec, &result, err) < 0)
		return fail_context(err, "cannot export a volume without nfs-kernel-server");
	int failed = result.status ? fail(err, ERR_FAILED_PRECONDITION,
					  "exportfs printed \"%.*s\"; check /etc/exports",
					  (int)strcspn(result.error, "\n"), result.error)
				   : 0;
	exec_result_fini(&result);
	return failed;
}

static int give(struct arena *arena, const struct export_row *row, struct error *err)
{
	const char *argv[] = {"exportfs", "-o", export_options(row), export_operand(arena, row),
			      NULL};

	struct export_table active;

	if (run(argv, err) < 0 || exportfs_active(arena, &active, err) < 0)
		return -1;
	if (export_table_has(&active, row))
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "exportfs succeeded, but " ETAB " does not have '%s'; check /etc/exports",
		    export_operand(arena, row));
}

static int withdraw(struct arena *arena, const struct export_row *row, struct error *err)
{
	const char *argv[] = {"exportfs", "-u", export_operand(arena, row), NULL};

	return run(argv, err);
}

/* Change the active exports of the path to those in `wanted`. */
static int activate(struct arena *arena, const char *path, const struct export_table *wanted,
		    struct error *err)
{
	struct export_table all;

	if (exportfs_active(arena, &all, err) < 0)
		return -1;
	struct export_table active = export_table_of(arena, &all, path, false);
	for (size_t i = 0; i < active.n; i++)
		if (!export_table_names(wanted, &active.rows[i]) &&
		    withdraw(arena, &active.rows[i], err) < 0)
			return -1;
	for (size_t i = 0; i < wanted->n; i++)
		if (!export_table_has(&active, &wanted->rows[i]) &&
		    give(arena, &wanted->rows[i], err) < 0)
			return -1;
	return 0;
}

static char *file_of(struct arena *arena, const char *parent)
{
	return arena_printf(arena, FOLDER "/zcsi-%s.exports", escape_text(arena, parent));
}

int exportfs_recorded(struct arena *arena, const char *parent, struct export_table *ret,
		      struct error *err)
{
	return read_table(arena, file_of(arena, parent), ret, err);
}

static int replace(const char *path, const char *new, const char *text)
{
	auto_fclose FILE *file = fopen(new, "we");

	if (!file || fputs(text, file) < 0 || fflush(file))
		return -1;
	return rename(new, path);
}

static int write_file(struct arena *arena, const char *path, const struct export_table *table,
		      struct error *err)
{
	auto_free char *text = NULL;
	const char *present;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	export_table_print(table, out);
	fclose(out);
	if (read_text(arena, path, &present, err) < 0)
		return -1;
	if (!strcmp(text, present))
		return 0;
	if (table->n) {
		mkdir(FOLDER, 0755);
		if (replace(path, arena_printf(arena, "%s.new", path), text))
			return fail_errno(err, "cannot write '%s'", path);
	} else if (unlink(path) && errno != ENOENT) {
		return fail_errno(err, "cannot remove '%s'", path);
	}
	return 0;
}

/* Change the exports of the path in the file to those in `wanted`. */
static int record(struct arena *arena, const char *file, const char *path,
		  const struct export_table *wanted, struct error *err)
{
	struct export_table all;

	if (read_table(arena, file, &all, err) < 0)
		return -1;
	struct export_table others = export_table_of(arena, &all, path, true);
	struct export_table joined = export_table_join(arena, &others, wanted);

	return write_file(arena, file, &joined, err);
}

int exportfs_set(struct arena *arena, const char *parent, const char *path,
		 const struct export_table *wanted, struct error *err)
{
	if (record(arena, file_of(arena, parent), path, wanted, err) < 0)
		return -1;
	return activate(arena, path, wanted, err);
}

/*
 * Read the NFS server's number of threads. In a container, /proc/fs/nfsd is empty, so read it in
 * the root directory of the host's first process.
 */
bool exportfs_serves(void)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const bool contained = !access("/host/proc/1", F_OK);
	struct error ignored;
	const char *threads;

	return read_text(&arena, contained ? "/host/proc/1/root" THREADS : THREADS, &threads,
			 &ignored) == 0 &&
	       atoi(threads) > 0;
}
