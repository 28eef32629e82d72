/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The host where zcsi runs.
 *
 * Invariant: programs of the host are run by argv, and change nothing but what their caller names.
 */
#include "controller/cli/here/here.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/exec.h"

#define LOOK_NS   100000000 /* between two looks for a device */
#define LOOKS_MAX 100

int here_run(struct arena *arena, const char *const *argv, const char **ret_out, struct error *err)
{
	struct exec_result result = {0};

	if (exec_run(&(struct exec){.argv = argv}, &result, err) < 0)
		return -1;
	if (ret_out)
		*ret_out = arena_strdup(arena, result.out);
	int failed = result.status ? fail(err, ERR_FAILED_PRECONDITION, "%s printed \"%.*s\"",
					  argv[0], (int)strcspn(result.error, "\n"), result.error)
				   : 0;
	exec_result_fini(&result);
	return failed;
}

bool here_has(struct arena *arena, const char *name, uint64_t guid)
{
	const char *argv[] = {"zfs", "get", "-Hp", "-o", "value", "guid", name, NULL};
	struct error ignored;
	const char *out;

	return here_run(arena, argv, &out, &ignored) == 0 && strtoull(out, NULL, 10) == guid;
}

int here_check_folder(struct arena *arena, const char *folder, const char **ret, struct error *err)
{
	auto_free char *path = realpath(folder, NULL);
	DIR *open = path ? opendir(path) : NULL;
	size_t names = 0;

	if (!open)
		return fail_errno(err, "cannot open the folder '%s'", folder);
	while (readdir(open))
		names++;
	closedir(open);
	*ret = arena_strdup(arena, path);
	/* Each folder has the names "." and "..". */
	return names <= 2 ? 0
			  : fail(err, ERR_FAILED_PRECONDITION,
				 "the folder '%s' is not empty, or something is mounted there: "
				 "give an empty one",
				 folder);
}

int here_mount(struct arena *arena, const char *type, const char *options, const char *source,
	       const char *path, struct error *err)
{
	/* zcsi-node finds mounts by a zvol's name, so mount(8) must not resolve the /dev link. */
	const char *argv[] = {"mount", "--no-canonicalize", "-t", type, "-o", options, source, path,
			      NULL};

	if (here_run(arena, argv, NULL, err) == 0)
		return 0;
	return fail_context(err, "'%s' is not mounted at '%s'%s", source, path,
			    geteuid() ? ", which root has to do" : "");
}

int here_wait(const char *device, struct error *err)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};

	for (int looks = 0; looks < LOOKS_MAX; looks++) {
		if (access(device, F_OK) == 0)
			return 0;
		nanosleep(&pause, NULL);
	}
	return fail(err, ERR_UNAVAILABLE, "'%s' is not there after 10 seconds; does udev run?",
		    device);
}
