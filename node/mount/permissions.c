/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Permissions of a volume's root directory. See permissions.h.
 *
 * Invariant: a directory that somebody changed since ZFS made it keeps its owner and mode. The
 * mode is set before the owner, so that a daemon killed between the two leaves a directory that
 * is still known as new (mode as wanted, but root's), and the next staging finishes it.
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

#define NOT_ASKED     UINT32_MAX
#define MODE_MAX      07777
#define MODE_OF_ZFS   0755
#define MODE_OF_GROUP (S_ISGID | S_IRWXG)
#define GROUP_BYTES   (1 << 20) /* of one group's record with all its members */

/* Decimal or octal digits up to a bound, and nothing else. */
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

static bool parse_part(char **rest, int base, uint32_t max, uint32_t *ret)
{
	const char *part = strsep(rest, ":");

	*ret = NOT_ASKED;
	return part && (!*part || parse_number(part, base, max, ret));
}

static int parse_root(const char *root, struct permissions *ret, struct error *err)
{
	auto_free char *copy = mem_strdup(*root ? root : "::");
	char *rest = copy;

	if (parse_part(&rest, 10, NOT_ASKED - 1, &ret->owner) &&
	    parse_part(&rest, 10, NOT_ASKED - 1, &ret->group) &&
	    parse_part(&rest, 8, MODE_MAX, &ret->mode) && !rest)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "its property zcsi:root is '%.64s', not '<uid>:<gid>:<octal mode>'; mend it "
		    "with 'zfs set'",
		    root);
}

int permissions_group(const char *name, gid_t *ret, struct error *err)
{
	auto_free char *memory = mem_alloc(GROUP_BYTES);
	struct group group, *found = NULL;

	*ret = NOT_ASKED;
	if (!*name || parse_number(name, 10, NOT_ASKED - 1, ret))
		return 0;
	int failed = getgrnam_r(name, &group, memory, GROUP_BYTES, &found);
	if (!found)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume_mount_group '%.64s' is no group of this host%s%s; give its "
			    "number, or make it with groupadd",
			    name, failed ? ": " : "", failed ? strerrordesc_np(failed) : "");
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

static bool asks_nothing(const struct permissions *want)
{
	return !want->maker && want->owner == NOT_ASKED && want->group == NOT_ASKED &&
	       want->mode == NOT_ASKED && want->mount_group == NOT_ASKED;
}

struct directory {
	uid_t owner;
	gid_t group;
	mode_t mode;
};

static void give_to_group(struct directory *directory, gid_t group)
{
	if (group == NOT_ASKED)
		return;
	directory->group = group;
	directory->mode |= MODE_OF_GROUP;
}

/* What the directory is to be, from what it is. */
static struct directory planned(const struct directory *now, const struct permissions *want)
{
	struct directory kept = *now;
	struct directory fresh = {.owner = want->owner == NOT_ASKED ? 0 : want->owner,
				  .group = want->group == NOT_ASKED ? 0 : want->group,
				  .mode = want->mode == NOT_ASKED ? MODE_OF_ZFS : want->mode};

	give_to_group(&kept, want->mount_group);
	give_to_group(&fresh, want->mount_group);
	bool makers = (!now->owner && !now->group) || (want->maker && now->owner == want->maker);
	bool as_made = makers && (now->mode == MODE_OF_ZFS || now->mode == fresh.mode);
	return as_made ? fresh : kept;
}

static int look(int fd, struct directory *ret)
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

	if (look(fd, &now))
		return -1;
	return now.mode == to->mode ? 0 : fchmod(fd, to->mode);
}

static int change(int fd, const struct permissions *want)
{
	struct directory now;

	if (look(fd, &now))
		return -1;
	struct directory to = planned(&now, want);
	if (set_mode(fd, &to))
		return -1;
	if (now.owner == to.owner && now.group == to.group)
		return 0;
	/* ZFS drops setuid and setgid when the owner changes. */
	return fchown(fd, to.owner, to.group) || set_mode(fd, &to) ? -1 : 0;
}

/* A staging may be read-only; a copy of its mount that is attached nowhere need not be. */
static int apply(const char *path, const struct permissions *want, struct error *err)
{
	struct mount_attr writable = {.attr_clr = MOUNT_ATTR_RDONLY, .propagation = MS_PRIVATE};
	auto_close int mount = open_tree(AT_FDCWD, path,
					 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);

	if (mount < 0 || mount_setattr(mount, "", AT_EMPTY_PATH, &writable, sizeof(writable)))
		return fail_errno(err, "cannot take the mount '%s'", path);
	auto_close int root = openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return fail_errno(err, "cannot open the directory '%s'", path);
	if (change(root, want))
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

	if (asks_nothing(want))
		return 0;
	struct application *application = mem_alloc(sizeof(*application));
	*application = (struct application){.path = mem_strdup(path), .want = *want};
	snprintf(key, sizeof(key), "chown %s", path);
	int error =
		bounded_call_run(&(struct bounded_call){"chown", key, run, discard, application},
				 now_ms() + MOUNT_CALL_MS);
	if (error)
		return fail(err, ERR_UNAVAILABLE,
			    "the filesystem at '%s' did not take its owner and mode: %s", path,
			    strerrordesc_np(error));
	int result = application->result;
	*err = application->error;
	discard(application);
	return result;
}
