/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Setting owner, group and mode of a volume's root directory.
 *
 * Invariant: a directory that was changed since ZFS made it keeps its owner and mode. The mode is
 * set before the owner: a daemon that is killed in between leaves a directory with the wanted mode
 * that still belongs to its maker, which counts as new, so the next staging finishes the work.
 */
#include "node/mount/permissions.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/bounded_call.h"
#include "common/mem.h"
#include "node/mount/call.h"

#define UNSET         UINT32_MAX
#define MODE_MAX      07777
#define MODE_OF_ZFS   0755
#define MODE_OF_GROUP (S_ISGID | S_IRWXG)
#define GROUP_BYTES   (1 << 20) /* memory for the record of one group with all its members */

/* Returns true if the text is a number of digits only, at most max. */
static bool parse_number(const char *text, int base, uint32_t max, uint32_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	unsigned long long value = strtoull(text, &end, base);
	if (*end || errno || value > max)
		return false;
	*ret = (uint32_t)value;
	return true;
}

/* Parse the next part of "uid:gid:mode"; an empty one is UNSET. */
static bool parse_part(char **rest, int base, uint32_t max, uint32_t *ret)
{
	const char *part = strsep(rest, ":");

	*ret = UNSET;
	return part && (!*part || parse_number(part, base, max, ret));
}

static int parse_root(const char *root, struct permissions *ret, struct error *err)
{
	auto_free char *copy = mem_strdup(*root ? root : "::");
	char *rest = copy;

	if (parse_part(&rest, 10, UNSET - 1, &ret->owner) &&
	    parse_part(&rest, 10, UNSET - 1, &ret->group) &&
	    parse_part(&rest, 8, MODE_MAX, &ret->mode) && !rest)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "its property zcsi:root is '%.64s', not '<uid>:<gid>:<octal mode>'; repair it "
		    "with 'zfs set'",
		    root);
}

int permissions_group(const char *name, gid_t *ret, struct error *err)
{
	auto_free char *memory = mem_alloc(GROUP_BYTES);
	struct group group, *found = NULL;

	*ret = UNSET;
	if (!*name || parse_number(name, 10, UNSET - 1, ret))
		return 0;
	int error = getgrnam_r(name, &group, memory, GROUP_BYTES, &found);
	if (!found)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume_mount_group '%.64s' is not a group of this host%s%s; use its "
			    "number, or create it with groupadd",
			    name, error ? ": " : "", error ? strerrordesc_np(error) : "");
	*ret = found->gr_gid;
	return 0;
}

int permissions_parse(const char *root, const char *mount_group, struct permissions *ret,
		      struct error *err)
{
	ret->maker = 0;
	return parse_root(root, ret, err) < 0 ||
			       permissions_group(mount_group, &ret->mount_group, err) < 0
		       ? -1
		       : 0;
}

static bool is_empty(const struct permissions *want)
{
	return !want->maker && want->owner == UNSET && want->group == UNSET &&
	       want->mode == UNSET && want->mount_group == UNSET;
}

struct directory {
	uid_t owner;
	gid_t group;
	mode_t mode;
};

static void give_to_group(struct directory *directory, gid_t group)
{
	if (group == UNSET)
		return;
	directory->group = group;
	directory->mode |= MODE_OF_GROUP;
}

/* Returns the wanted state of the directory, given its present state. */
static struct directory plan(const struct directory *now, const struct permissions *want)
{
	struct directory kept = *now;
	struct directory fresh = {.owner = want->owner == UNSET ? 0 : want->owner,
				  .group = want->group == UNSET ? 0 : want->group,
				  .mode = want->mode == UNSET ? MODE_OF_ZFS : want->mode};

	give_to_group(&kept, want->mount_group);
	give_to_group(&fresh, want->mount_group);
	bool by_maker = (!now->owner && !now->group) || (want->maker && now->owner == want->maker);
	bool as_made = by_maker && (now->mode == MODE_OF_ZFS || now->mode == fresh.mode);
	return as_made ? fresh : kept;
}

static int inspect(int fd, struct directory *ret)
{
	struct stat st;

	if (fstat(fd, &st))
		return -1;
	*ret = (struct directory){st.st_uid, st.st_gid, st.st_mode & MODE_MAX};
	return 0;
}

static int set_mode(int fd, const struct directory *to)
{
	struct directory now;

	if (inspect(fd, &now) < 0)
		return -1;
	return now.mode == to->mode ? 0 : fchmod(fd, to->mode);
}

static int change(int fd, const struct permissions *want)
{
	struct directory now;

	if (inspect(fd, &now) < 0)
		return -1;
	struct directory to = plan(&now, want);
	if (set_mode(fd, &to) < 0)
		return -1;
	if (now.owner == to.owner && now.group == to.group)
		return 0;
	/* ZFS clears setuid and setgid when the owner changes, so set the mode again. */
	return fchown(fd, to.owner, to.group) < 0 || set_mode(fd, &to) < 0 ? -1 : 0;
}

/* The mount may be read-only: work on a writable copy that is attached nowhere. */
static int apply(const char *path, const struct permissions *want, struct error *err)
{
	struct mount_attr writable = {.attr_clr = MOUNT_ATTR_RDONLY, .propagation = MS_PRIVATE};
	auto_close int mount = open_tree(AT_FDCWD, path,
					 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);

	if (mount < 0 || mount_setattr(mount, "", AT_EMPTY_PATH, &writable, sizeof(writable)))
		return fail_errno(err, "cannot open the mount '%s'", path);
	auto_close int root = openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return fail_errno(err, "cannot open the directory '%s'", path);
	if (change(root, want) < 0)
		return fail_errno(err, "cannot change the owner and mode of '%s'", path);
	return 0;
}

struct application {
	char *path;
	struct permissions want;
	int result;
	struct error error;
};

static void run(void *work)
{
	struct application *application = work;

	application->result = apply(application->path, &application->want, &application->error);
}

static void discard(void *work)
{
	struct application *application = work;

	free(application->path);
	free(application);
}

int permissions_apply(const char *path, const struct permissions *want, struct error *err)
{
	char key[PATH_MAX + 32];

	if (is_empty(want))
		return 0;
	struct application *application = mem_alloc(sizeof(*application));
	*application = (struct application){.path = mem_strdup(path), .want = *want};
	snprintf(key, sizeof(key), "chown %s", path);
	int error =
		bounded_call_run(&(struct bounded_call){"chown", key, run, discard, application},
				 now_ms() + MOUNT_CALL_MS);
	if (error)
		return fail(err, ERR_UNAVAILABLE, "cannot change the owner and mode of '%s': %s",
			    path, strerrordesc_np(error));
	int result = application->result;
	*err = application->error;
	discard(application);
	return result;
}
