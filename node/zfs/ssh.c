/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zfs on a server that has nothing of ours, by OpenSSH's client. The first ssh stays as the master
 * of one connection, which the others share; keys and known_hosts are those of who runs zcsi-node.
 *
 * Invariant: a zfs there goes on when the connection is lost, or we are. Each holds a lock shared,
 * the home directory of its user, until it ends. After an end that was not seen, and at the start,
 * nothing runs before that lock was had alone; so what was begun earlier is done or will not be.
 */
#include "node/zfs/ssh.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/exec.h"
#include "common/quote.h"
#include "node/zfs/run_folder.h"

#define SETTLE_MS   20000

/* A delegated user's PATH has no zfs. */
#define SHELL_WORDS "PATH=$PATH:/usr/sbin:/sbin LC_ALL=C flock"
/* Some zfs end with 255, as ssh does when it is itself what has failed. */
#define SHELL_TAIL  "|| exit $(($? > 127 ? 127 : $?))"
#define SHARED      "--shared ."
#define ALONE       "--exclusive --wait 2 ."

static const char control_path[] = "ControlPath=" RUN_FOLDER "/ssh-%C";
static const char *const options[] = {
	"ssh", "-T",
	"-o",  "BatchMode=yes",
	"-o",  "StrictHostKeyChecking=yes",
	"-o",  "ControlMaster=auto",
	"-o",  control_path,
	"-o",  "ControlPersist=60",
	"-o",  "ConnectTimeout=10",
	"-o",  "ServerAliveInterval=5",
	"-o",  "ServerAliveCountMax=3",
	"-o",  "LogLevel=ERROR",
	"--",
};

static const struct {
	const char *words, *advice;
} sayings[] = {
	{"Host key verification failed",
	 "if the key that it shows is the server's own, write it into known_hosts"},
	{"Permission denied", "give that user there our public key, in ~/.ssh/authorized_keys"},
	{"", "look whether its sshd runs and can be reached from here"},
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static bool doubtful = true;
static char doubt[64]; /* the last of what is not known of them; or "" */
static bool kernels;
static uid_t uid;

static const char *server;

static bool is_name(const char *text, size_t length)
{
	bool good = length && *text != '-';

	for (size_t i = 0; good && i < length; i++)
		good = isalnum((unsigned char)text[i]) || strchr("-_.:", text[i]);
	return good;
}

int ssh_to(const char *user_at_host, struct error *err)
{
	if (!user_at_host)
		return 0;
	const char *at = strchr(user_at_host, '@');
	if (!at || !is_name(user_at_host, (size_t)(at - user_at_host)) ||
	    !is_name(at + 1, strlen(at + 1)))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "--zfs-over-ssh '%.128s' is not USER@HOST; use a user of the server "
			    "and its name, like zcsi@nas",
			    user_at_host);
	if (run_folder_make(err) < 0)
		return -1;
	server = user_at_host;
	return 0;
}

const char *ssh_server(void)
{
	return server;
}

bool ssh_server_is_the_kernels(void)
{
	scoped_lock(&mutex);

	return kernels;
}

uid_t ssh_server_uid(void)
{
	scoped_lock(&mutex);

	return uid;
}

static const char *const *command(struct arena *arena, const char *before, const char *const *argv)
{
	const char **all = arena_alloc(arena, (COUNT(options) + 3) * sizeof(*all));

	memcpy(all, options, sizeof(options));
	all[COUNT(options)] = server;
	all[COUNT(options) + 1] = arena_printf(arena, SHELL_WORDS " %s %s " SHELL_TAIL, before,
					       quote_words(arena, argv));
	return all;
}

/* On Linux root alone mounts and shares, whatever `zfs allow` has given. */
static bool is_roots(const char *const *argv)
{
	return !strcmp(argv[1], "mount") || !strcmp(argv[1], "unmount") ||
	       (!strcmp(argv[1], "set") && !strncmp(argv[2], "sharenfs=", strlen("sharenfs=")));
}

const char *const *ssh_argv(struct arena *arena, const char *const *argv)
{
	return command(arena, is_roots(argv) ? SHARED " sudo -n" : SHARED, argv);
}

static void take(const char *text)
{
	const char *line = strstr(text, "\nUid:\t");

	kernels = strstr(text, "nodev\tzfs\n");
	uid = line ? (uid_t)atol(line + strlen("\nUid:\t")) : 0;
}

static int fail_lost(const char *said, struct error *err)
{
	const char *newline = strrchr(said, '\n');
	const char *line = newline ? newline + 1 : *said ? said : "nothing";
	size_t row = 0;

	while (!strstr(line, sayings[row].words))
		row++;
	return fail(err, ERR_UNAVAILABLE, "the server '%s' is not reached: ssh says \"%.*s\"; %s",
		    server, (int)strcspn(line, "\r"), line, sayings[row].advice);
}

/* With the mutex. */
static int look(struct arena *arena, struct error *err)
{
	static const char *const cat[] = {"cat", "/proc/filesystems", "/proc/self/status", NULL};
	const struct exec exec = {.argv = command(arena, ALONE, cat), .timeout_ms = SETTLE_MS};
	struct exec_result result;
	int failed = 0;

	if (exec_run(&exec, &result, err) < 0)
		return -1;
	if (result.status > SSH_LOST)
		failed = fail_lost(result.error, err);
	else if (result.status && *result.error)
		failed = fail(err, ERR_UNAVAILABLE, "the server '%s' says \"%.*s\"", server,
			      (int)strcspn(result.error, "\r\n"), result.error);
	else if (result.status)
		failed = fail(err, ERR_UNAVAILABLE,
			      "a zfs that was begun on the server '%s' has not ended and may yet "
			      "be done; look at 'zpool status' there",
			      server);
	doubtful = failed;
	if (!failed)
		take(result.out);
	exec_result_fini(&result);
	return failed;
}

int ssh_settle(struct error *err)
{
	scoped_lock(&mutex);
	auto_arena struct arena arena = {.cap = SIZE_MAX};

	if (!server || !doubtful)
		return 0;
	int failed = look(&arena, err);
	if (!failed)
		*doubt = '\0';
	else if (*doubt)
		fail_context(err, "%s", doubt);
	return failed;
}

/* With the mutex. */
static void take_doubt(const char *const *argv)
{
	doubtful = true;
	snprintf(doubt, sizeof(doubt), "how '%s %s' ended is not known", argv[0], argv[1]);
}

void ssh_doubt(const char *const *argv)
{
	scoped_lock(&mutex);

	take_doubt(argv);
}

int ssh_lose(const char *const *argv, const char *said, struct error *err)
{
	scoped_lock(&mutex);

	take_doubt(argv);
	fail_lost(said, err);
	return fail_context(err, "%s", doubt);
}
