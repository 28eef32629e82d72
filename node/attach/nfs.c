/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Mounting NFS shares with fsopen, fsconfig and fsmount (Linux 5.2), in a bounded call.
 *
 * Invariant: a mount exists only after the server has answered, and is detached until the
 * caller places it. If the answer comes after the timeout, the bounded call closes the mount, which
 * removes it.
 */
#include "node/attach/nfs.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/bounded_call.h"
#include "node/host/address.h"
#include "node/mount/flags.h"

#define VERSION "vers=4.2"

/* Arguments and result of the bounded call. */
struct mounting {
	char *source;
	char **options;
	size_t n_options;
	int mount; /* the detached mount; -1: none, and `error` has the cause */
	struct error error;
};

char *nfs_source(struct arena *arena, const char *server, const char *share)
{
	bool bare = strchr(server, ':') && *server != '[';

	return arena_printf(arena, bare ? "[%s]:%s" : "%s:%s", server, share);
}

static bool names_version(const char *option)
{
	return !strncmp(option, "vers=", 5) || !strncmp(option, "nfsvers=", 8);
}

static int set(int context, const char *option)
{
	const char *equals = strchr(option, '=');

	if (!equals)
		return fsconfig(context, FSCONFIG_SET_FLAG, option, NULL, 0);
	auto_free char *key = mem_strdup(option);
	key[equals - option] = '\0';
	return fsconfig(context, FSCONFIG_SET_STRING, key, equals + 1, 0);
}

/* Append the kernel's error message for this context, "e nfs: ...", if it has one. */
static void quote_kernel(int context, struct error *err)
{
	char message[256];
	ssize_t length = read(context, message, sizeof(message) - 1);
	size_t used = strlen(err->text);

	if (length <= 0)
		return;
	message[length] = '\0';
	message[strcspn(message, "\n")] = '\0';
	snprintf(err->text + used, sizeof(err->text) - used, " (%s)",
		 message[0] && message[1] == ' ' ? message + 2 : message);
}

static int fail_mount(int context, const char *source, struct error *err)
{
	static const struct {
		int error;
		enum error_code code;
		const char *advice;
	} causes[] = {
		{EACCES, ERR_FAILED_PRECONDITION, "; the server does not export it to this host"},
		{EPERM, ERR_FAILED_PRECONDITION, "; the server does not export it to this host"},
		{ENOENT, ERR_FAILED_PRECONDITION, "; the server does not export it to this host"},
		{EPROTONOSUPPORT, ERR_FAILED_PRECONDITION,
		 "; use the mount flag vers= with a version that the server supports"},
		{EINVAL, ERR_INVALID_ARGUMENT, "; correct the mount flags"},
		{ENODEV, ERR_FAILED_PRECONDITION, "; run 'modprobe nfs' on this host"},
		{EHOSTUNREACH, ERR_UNAVAILABLE, ""},
		{ENETUNREACH, ERR_UNAVAILABLE, ""},
		{ETIMEDOUT, ERR_UNAVAILABLE, ""},
		{ECONNREFUSED, ERR_UNAVAILABLE, "; start its NFS server"},
	};
	int error = errno;

	fail_errno(err, "cannot mount '%s'", source);
	for (size_t i = 0; i < COUNT(causes); i++) {
		if (causes[i].error != error)
			continue;
		size_t used = strlen(err->text);
		snprintf(err->text + used, sizeof(err->text) - used, "%s", causes[i].advice);
		err->code = causes[i].code;
	}
	if (context >= 0)
		quote_kernel(context, err);
	return -1;
}

static int set_all(int context, const struct mounting *mounting)
{
	if (fsconfig(context, FSCONFIG_SET_STRING, "source", mounting->source, 0))
		return -1;
	for (size_t i = 0; i < mounting->n_options; i++)
		if (set(context, mounting->options[i]))
			return -1;
	return 0;
}

/*
 * Set the address of the server, because the kernel does not resolve names, and the address of this
 * host that the server sees.
 */
static int set_addresses(int context, const char *source, struct error *err)
{
	char server[ADDRESS_MAX], own[ADDRESS_MAX];

	if (address_of_server(source, server, err) < 0 || address_towards(server, own, err) < 0)
		return -1;
	if (fsconfig(context, FSCONFIG_SET_STRING, "addr", server, 0) ||
	    fsconfig(context, FSCONFIG_SET_STRING, "clientaddr", own, 0))
		return fail_mount(context, source, err);
	return 0;
}

static void mount_share(void *work)
{
	struct mounting *mounting = work;
	auto_close int context = fsopen("nfs", FSOPEN_CLOEXEC);

	if (context < 0) {
		fail_mount(-1, mounting->source, &mounting->error);
		return;
	}
	if (set_addresses(context, mounting->source, &mounting->error) < 0)
		return;
	if (!set_all(context, mounting) && !fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		mounting->mount = fsmount(context, FSMOUNT_CLOEXEC, 0);
	if (mounting->mount < 0)
		fail_mount(context, mounting->source, &mounting->error);
}

static void free_mounting(struct mounting *mounting)
{
	for (size_t i = 0; i < mounting->n_options; i++)
		free(mounting->options[i]);
	free(mounting->options);
	free(mounting->source);
	free(mounting);
}

static void discard(void *work)
{
	struct mounting *mounting = work;

	if (mounting->mount >= 0)
		close(mounting->mount);
	free_mounting(mounting);
}

static struct mounting *new_mounting(const struct staging *staging)
{
	struct mounting *mounting = mem_alloc(sizeof(*mounting));
	bool versioned = false;

	*mounting = (struct mounting){
		.source = mem_strdup(staging->source),
		.options = mem_alloc((staging->n_options + 1) * sizeof(char *)),
		.mount = -1,
	};
	for (size_t i = 0; i < staging->n_options; i++) {
		if (!mount_flag_is_nfs(staging->options[i]))
			continue;
		versioned |= names_version(staging->options[i]);
		mounting->options[mounting->n_options++] = mem_strdup(staging->options[i]);
	}
	if (!versioned)
		mounting->options[mounting->n_options++] = mem_strdup(VERSION);
	return mounting;
}

static int open_share(const struct staging *staging, struct error *err)
{
	struct mounting *mounting = new_mounting(staging);
	const struct bounded_call call = {"mount nfs", staging->path, mount_share, discard,
					  mounting};
	int error = bounded_call_run(&call, now_ms() + NFS_MOUNT_MS);

	if (error == ETIMEDOUT)
		return fail(err, ERR_UNAVAILABLE,
			    "the server of '%s' did not answer within %d s; check that it runs and "
			    "that this node can reach it",
			    staging->source, NFS_MOUNT_MS / 1000);
	if (error) {
		errno = error;
		return fail_errno(err, "cannot start a thread to mount '%s'", staging->source);
	}
	int mount = mounting->mount;
	*err = mounting->error;
	free_mounting(mounting);
	return mount;
}

int nfs_mount(const struct staging *staging, struct error *err)
{
	auto_close int mount = open_share(staging, err);

	if (mount < 0)
		return -1;
	return mount_place(mount, staging->source, staging->path, MOUNT_STAGING, staging->attrs,
			   err);
}
