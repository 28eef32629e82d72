/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Running zfs and zpool on a server, with OpenSSH's client. The first ssh stays as the master of
 * one connection, which later ones share. Keys and known_hosts are those of the user of zcsi-node.
 *
 * Invariant: a zfs on the server continues when the connection is lost or zcsi-node ends. Each one
 * holds a shared flock on the home directory of its user until it ends. At the start, and after a
 * command whose end was not observed, nothing runs before an exclusive flock succeeds. At that
 * moment no earlier zfs is running.
 */
#include "node/zfs/ssh.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/exec.h"
#include "common/quote.h"
#include "node/zfs/run_folder.h"

#define SETTLE_MS   20000

/* The PATH of a user without root rights lacks the directory of zfs, so extend it. */
#define SHELL_WORDS "PATH=$PATH:/usr/sbin:/sbin LC_ALL=C flock"
/*
 * Map exit status 255 to 127: some zfs exit with 255, which ssh uses for its own errors. By other
 * statuses above 127 flock reports a signal: map these to SSH_KILLED.
 */
#define SHELL_TAIL  "|| exit $(($? == 255 ? 127 : $? > 127 ? 125 : $?))"
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
	{"Host key verification failed", "verify the server's host key and add it to known_hosts"},
	{"Permission denied",
	 "add the public key of the user of zcsi-node to ~/.ssh/authorized_keys there"},
	{"", "check that its sshd runs and that this host can reach it"},
};

/* Held while ssh runs, and locked before `mutex`, which is never held for long. */
static pthread_mutex_t settling = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* protects the variables below */
static bool unsettled = true; /* an earlier command may still be running */
static unsigned unknowns;     /* the number of unobserved commands so far */
static char unknown_text[64]; /* the error text for the last unobserved command; or "" */
static bool kernels;          /* the server's kernel has ZFS */
static uid_t uid;             /* the uid of the user on the server */

static const char *server; /* set once, so the mutex does not protect it */

/* Returns true for a text that is a user or a host, and neither an option nor shell syntax. */
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

/* Returns the ssh command line that runs flock with the options `before` and argv on the server. */
static const char *const *command(struct arena *arena, const char *before, const char *const *argv)
{
	const char **all = arena_alloc(arena, (COUNT(options) + 3) * sizeof(*all));

	memcpy(all, options, sizeof(options));
	all[COUNT(options)] = server;
	all[COUNT(options) + 1] = arena_printf(arena, SHELL_WORDS " %s %s " SHELL_TAIL, before,
					       quote_words(arena, argv));
	return all;
}

/*
 * Returns true if the command needs root: on Linux, `zfs allow` cannot delegate mounting and
 * sharing.
 */
static bool needs_root(const char *const *argv)
{
	return !strcmp(argv[1], "mount") || !strcmp(argv[1], "unmount") ||
	       (!strcmp(argv[1], "set") && !strncmp(argv[2], "sharenfs=", strlen("sharenfs=")));
}

const char *const *ssh_argv(struct arena *arena, const char *const *argv)
{
	return command(arena, needs_root(argv) ? SHARED " sudo -n" : SHARED, argv);
}

/* Parse /proc/filesystems and /proc/self/status of the server. */
static void parse_facts(const char *text)
{
	const char *line = strstr(text, "\nUid:\t");
	scoped_lock(&mutex);

	kernels = strstr(text, "nodev\tzfs\n");
	uid = line ? (uid_t)atol(line + strlen("\nUid:\t")) : 0;
}

static int fail_lost(const char *output, struct error *err)
{
	const char *newline = strrchr(output, '\n');
	const char *line = newline ? newline + 1 : *output ? output : "nothing";
	size_t row = 0;

	while (!strstr(line, sayings[row].words))
		row++;
	return fail(err, ERR_UNAVAILABLE,
		    "the server '%s' is unreachable: ssh printed \"%.*s\"; %s", server,
		    (int)strcspn(line, "\r"), line, sayings[row].advice);
}

/* Get the exclusive flock on the server and read the facts about it. */
static int check_server(struct arena *arena, int stop, struct error *err)
{
	static const char *const cat[] = {"cat", "/proc/filesystems", "/proc/self/status", NULL};
	const struct exec exec = {
		.argv = command(arena, ALONE, cat), .timeout_ms = SETTLE_MS, .stop = stop};
	struct exec_result result;
	int failed = 0;

	if (exec_run(&exec, &result, err) < 0)
		return -1;
	if (result.status > SSH_LOST)
		failed = fail_lost(result.error, err);
	else if (result.status && *result.error)
		failed = fail(err, ERR_UNAVAILABLE, "the server '%s' printed \"%.*s\"", server,
			      (int)strcspn(result.error, "\r\n"), result.error);
	else if (result.status)
		failed = fail(err, ERR_UNAVAILABLE,
			      "a zfs on the server '%s' has not ended and may still take effect; "
			      "check 'zpool status' there",
			      server);
	if (!failed)
		parse_facts(result.out);
	exec_result_fini(&result);
	return failed;
}

/* Lock `settling`, or fail after SETTLE_MS: callers do not wait for each other for longer. */
static int lock_within(struct error *err)
{
	struct timespec deadline;

	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_sec += SETTLE_MS / 1000;
	if (!pthread_mutex_clocklock(&settling, CLOCK_MONOTONIC, &deadline))
		return 0;
	return fail(err, ERR_UNAVAILABLE,
		    "other calls have been asking the server '%s' for %d s which zfs still run; "
		    "try again",
		    server, SETTLE_MS / 1000);
}

/* Returns true if no earlier command may run any more; *ret_unknowns is for end_settling. */
static bool is_settled(unsigned *ret_unknowns)
{
	scoped_lock(&mutex);

	*ret_unknowns = unknowns;
	return !unsettled;
}

/* A command that became unknown during the check may have started after it, so it stays so. */
static void end_settling(unsigned before)
{
	scoped_lock(&mutex);

	if (unknowns == before) {
		unsettled = false;
		*unknown_text = '\0';
	}
}

/* Add the last unobserved command to the error. */
static int fail_unsettled(struct error *err)
{
	scoped_lock(&mutex);

	return *unknown_text ? fail_context(err, "%s", unknown_text) : -1;
}

int ssh_settle(int stop, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	unsigned before;

	if (!server || is_settled(&before))
		return 0;
	if (lock_within(err) < 0)
		return fail_unsettled(err);
	auto_unlock pthread_mutex_t *held = &settling;
	if (is_settled(&before))
		return 0;
	if (check_server(&arena, stop, err) < 0)
		return fail_unsettled(err);
	end_settling(before);
	return 0;
}

/* Record a command whose end was not observed. The caller holds the mutex. */
static void set_unknown(const char *const *argv)
{
	unsettled = true;
	unknowns++;
	snprintf(unknown_text, sizeof(unknown_text), "the result of '%s %s' is not known", argv[0],
		 argv[1]);
}

void ssh_note_unknown(const char *const *argv)
{
	scoped_lock(&mutex);

	set_unknown(argv);
}

int ssh_lose(const char *const *argv, const char *output, struct error *err)
{
	scoped_lock(&mutex);

	set_unknown(argv);
	fail_lost(output, err);
	return fail_context(err, "%s", unknown_text);
}
