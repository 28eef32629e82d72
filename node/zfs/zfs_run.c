/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Running zfs(8) and zpool(8), and translating their error texts.
 *
 * Invariant: only the table here maps an error text of zfs to a code. The error quotes the line
 * that matched, but neither the advice of zfs (-r, -R, -f) nor earlier warnings of sudo. A process
 * that exceeds its timeout is not killed: it is hung, and no other one is started until it ends.
 * Only programs that change nothing are killed, when zcsi-node ends.
 */
#include "node/zfs/zfs_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/mem.h"
#include "node/zfs/argv.h"
#include "node/zfs/lock_file.h"
#include "node/zfs/ssh.h"
#include "node/zfs/hung.h"
#include "node/zfs/zfs_metrics.h"

/*
 * A program that reads many snapshots may take longer than --zfs-timeout without being hung: the
 * first reading of 2,500 volumes with 10,000 snapshots takes 3 minutes on a slow host.
 */
#define LIST_TIMEOUT_MS 600000

#define MISSING         "dataset does not exist"
#define NO_PROGRAM      "install zfsutils-linux, or zfs-fuse where there is no kernel ZFS"

/* The first row whose words the error text contains decides, so longer words come first. */
static const struct {
	const char *words;
	enum error_code code;
	const char *advice;
} sayings[] = {
	{"dataset already exists", ERR_ALREADY_EXISTS, NULL},
	{"filesystem already mounted", ERR_ALREADY_EXISTS, NULL},
	{MISSING, ERR_NOT_FOUND, NULL},
	{"parent does not exist", ERR_UNAVAILABLE,
	 "create it with 'zfs create -o mountpoint=none'"},
	{"no such pool", ERR_UNAVAILABLE, "import it with 'zpool import'"},
	{"is currently suspended", ERR_UNAVAILABLE,
	 "repair the devices that 'zpool status' shows as failed and run 'zpool clear'"},
	{"name is too long", ERR_FAILED_PRECONDITION,
	 "rename the snapshots with the longest names"},
	{"greater than available space", ERR_RESOURCE_EXHAUSTED,
	 "free space in the pool or add a device"},
	{"could not find any snapshots", ERR_NOT_FOUND, NULL},
	{"unsupported version or feature", ERR_INVALID_ARGUMENT, NULL},
	{"out of space", ERR_RESOURCE_EXHAUSTED, "free space in the pool or add a device"},
	{"bad numeric value", ERR_INVALID_ARGUMENT, NULL},
	{"invalid property", ERR_INVALID_ARGUMENT, NULL},
	{"already loaded for", ERR_ALREADY_EXISTS, NULL},
	{"not a cloned filesystem", ERR_ALREADY_EXISTS, NULL}, /* the clone was promoted already */
	{"already unloaded for", ERR_ALREADY_EXISTS, NULL},
	{"Key load error", ERR_UNAUTHENTICATED, "give the key that the volume was created with"},
	{"feature not enabled", ERR_FAILED_PRECONDITION, "see 'zpool upgrade'"},
	{"must be ", ERR_INVALID_ARGUMENT, NULL},
	{"does not apply to datasets of this type", ERR_INVALID_ARGUMENT, NULL},
	{"is readonly", ERR_INVALID_ARGUMENT, NULL},
	{"property value too long", ERR_INVALID_ARGUMENT, NULL},
	{"size is less than current", ERR_FAILED_PRECONDITION, NULL},
	{"has children", ERR_FAILED_PRECONDITION,
	 "destroy what 'zfs list -r -t all' shows below it first"},
	{"has dependent clones", ERR_FAILED_PRECONDITION, "destroy the clones first"},
	{"space quota exceeded", ERR_RESOURCE_EXHAUSTED, "free space or raise the quota"},
	{"' does not exist.", ERR_NOT_FOUND, NULL}, /* the error for a bookmark */
	{"' exists", ERR_ALREADY_EXISTS, NULL},
	{"incomplete stream", ERR_UNAVAILABLE, NULL},
	{"failed to read from stream", ERR_UNAVAILABLE, NULL}, /* the stream ended at its start */
	{"partially-complete state", ERR_ABORTED, "zfs send -t continues what was interrupted"},
	{"most recent snapshot of", ERR_ABORTED, NULL},
	{"has been modified", ERR_FAILED_PRECONDITION,
	 "it was mounted and written to by hand; roll it back to its newest snapshot"},
	{"is busy", ERR_FAILED_PRECONDITION,
	 "find the process that uses it with 'fuser -vm' and stop it"},
	{"directory is not empty", ERR_FAILED_PRECONDITION,
	 "move the contents of the directory elsewhere"},
	{"legacy mountpoint", ERR_FAILED_PRECONDITION,
	 "set its property mountpoint to /run/zcsi-nfs/POOL/PARENT/NAME"},
	{"permission denied", ERR_INTERNAL, "run 'zcsi-node --check' to see what is missing"},
	{"flock: failed to execute sudo", ERR_FAILED_PRECONDITION, "install sudo on the server"},
	{"flock: failed to execute", ERR_FAILED_PRECONDITION, NO_PROGRAM " on the server"},
	{"a password is required", ERR_FAILED_PRECONDITION,
	 "give the user of --zfs-over-ssh its line in the server's sudoers"},
	{"setpriv: failed to execute", ERR_FAILED_PRECONDITION, NO_PROGRAM},
	{"connect: Permission denied", ERR_FAILED_PRECONDITION,
	 "give the user of --zfs-user the socket of zfs-fuse: 'chown NAME /run/zfs/zfs_socket'"},
	{"modules cannot be auto-loaded", ERR_FAILED_PRECONDITION, "run 'modprobe zfs'"},
	{"modules are not loaded", ERR_FAILED_PRECONDITION, "run 'modprobe zfs'"},
	{"Failed to load ZFS", ERR_FAILED_PRECONDITION, "run 'modprobe zfs'"},
	{"failed to initialize ZFS", ERR_FAILED_PRECONDITION,
	 "run 'modprobe zfs', or start the zfs-fuse service where there is no kernel ZFS"},
};

bool zfs_is_the_kernels(void)
{
	if (ssh_server())
		return ssh_server_is_the_kernels();
	auto_fclose FILE *file = fopen("/proc/filesystems", "re");
	char line[64];

	while (file && fgets(line, sizeof(line), file))
		if (!strcmp(line, "nodev\tzfs\n"))
			return true;
	return false;
}

/* Returns the beginning of the line that contains `at`, a position in the text. */
static const char *line_of(const char *text, const char *at)
{
	while (at > text && at[-1] != '\n')
		at--;
	return at;
}

int zfs_fail(const char *output, struct error *err)
{
	for (size_t i = 0; i < COUNT(sayings); i++) {
		const char *words = strstr(output, sayings[i].words), *advice = sayings[i].advice;
		if (!words)
			continue;
		const char *line = line_of(output, words);
		return fail(err, sayings[i].code, "zfs printed \"%.*s\"%s%s",
			    (int)strcspn(line, "\n"), line, advice ? "; " : "",
			    advice ? advice : "");
	}
	return fail(err, ERR_INTERNAL, "zfs printed \"%.*s\"", (int)strcspn(output, "\n"), output);
}

static int64_t timeout_ms = EXEC_TIMEOUT_MS;
static int stop; /* an eventfd, readable once readings are to stop; 0: none */

void zfs_run_set_timeout(int64_t ms)
{
	timeout_ms = ms;
}

int64_t zfs_run_timeout(void)
{
	return timeout_ms;
}

int64_t zfs_run_list_timeout(void)
{
	return timeout_ms > LIST_TIMEOUT_MS ? timeout_ms : LIST_TIMEOUT_MS;
}

int zfs_run_stoppable(struct error *err)
{
	int fd = eventfd(0, EFD_CLOEXEC);

	if (fd < 0)
		return fail_errno(err, "cannot make an eventfd");
	stop = fd;
	return 0;
}

void zfs_run_stop_reading(void)
{
	if (stop)
		eventfd_write(stop, 1);
}

/* Returns true for a program that changes nothing, as `zfs send` with and without -n. */
static bool is_reading(const char *const *argv)
{
	static const char *const words[] = {"get", "list", "status", "allow", "send"};

	for (size_t i = 0; i < COUNT(words); i++)
		if (!strcmp(argv[1], words[i]))
			return true;
	return false;
}

/* Fail because ssh was lost: the end of the remote command is unknown. */
static int fail_lost(const char *const *argv, const char *output, struct error *err)
{
	ssh_lose(argv, output, err);
	hung_report(err->text);
	return -1;
}

/*
 * Fail because a reading found names missing. Only these are gone, so a line of zfs about anything
 * else decides. Lines of a shell or of ssh do not count.
 */
static int fail_reading(const char *said, struct error *err)
{
	char *state;
	auto_free char *lines = mem_strdup(said);

	for (char *line = strtok_r(lines, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
		if ((!strncmp(line, "cannot ", 7) || !strncmp(line, "internal error", 14)) &&
		    !strstr(line, MISSING))
			return zfs_fail(line, err);
	return zfs_fail(said, err);
}

/* Fail if the program failed, with an error from its status and error text. */
static int check_result(const char *const *argv, const struct exec_result *result,
			struct error *err)
{
	const int signal = child_signal(result->status);

	if (ssh_server() && result->status > SSH_LOST)
		return fail_lost(argv, result->error, err);
	/* A signal killed the program, so its output and its error text may be incomplete. */
	if (signal)
		return fail(err, ERR_UNAVAILABLE, "'%s %s' was killed by signal %d (%s); try again",
			    argv[0], argv[1], signal, strsignal(signal));
	if (ssh_server() && result->status == SSH_KILLED)
		return fail(err, ERR_UNAVAILABLE,
			    "'%s %s' was killed by a signal on the server '%s'; try again", argv[0],
			    argv[1], ssh_server());
	if (result->status && is_reading(argv) && strstr(result->error, MISSING))
		return fail_reading(result->error, err);
	if (result->status)
		return zfs_fail(*result->error ? result->error : "nothing, and failed", err);
	return 0;
}

/* Fail because a program was not run to its end, with a text for the error of exec_run. */
static int fail_not_run(const char *const *argv, struct error *err)
{
	if (err->code == ERR_CANCELLED) {
		ssh_note_unknown(argv);
		fail(err, ERR_UNAVAILABLE, "zcsi-node is stopping; try again");
	} else if (err->code == ERR_FAILED_PRECONDITION && argv_is_plain()) {
		fail(err, ERR_FAILED_PRECONDITION,
		     "the program '%s' is not on this host; " NO_PROGRAM, argv[0]);
	}
	return -1;
}

int zfs_run_once(const struct exec *exec, char **ret_out, struct error *err)
{
	struct exec_result result = {0};
	struct exec launched = *exec;
	auto_free char *hung = hung_text();
	int64_t started = now_us();
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	int left = -1;

	if (hung)
		return fail(err, ERR_UNAVAILABLE, "%s", hung);
	if (is_reading(exec->argv))
		launched.stop = stop;
	if (ssh_settle(launched.stop, err) < 0)
		return fail_not_run(exec->argv, err);
	launched.argv = argv_complete(&arena, exec->argv);
	launched.keep = lock_file_descriptor();
	launched.ret_left = &left;
	if (!launched.timeout_ms)
		launched.timeout_ms = timeout_ms;
	zfs_metrics_begin(exec->argv);
	int failed = exec_run(&launched, &result, err);
	zfs_metrics_count(exec->argv, failed ? err->code : ERR_OK, result.status,
			  now_us() - started);
	if (left >= 0) {
		ssh_note_unknown(exec->argv);
		return hung_add(left, exec->argv, err);
	}
	if (failed)
		return fail_not_run(exec->argv, err);
	failed = check_result(exec->argv, &result, err);
	if (ret_out) {
		free(*ret_out);
		*ret_out = steal_ptr(result.out);
	}
	exec_result_fini(&result);
	return failed;
}

int zfs_run(const char *const *argv, struct error *err)
{
	return zfs_run_with(argv, NULL, err);
}

int zfs_run_with(const char *const *argv, const char *input, struct error *err)
{
	for (long ms = 10;; ms *= 2) {
		if (zfs_run_once(&(struct exec){.argv = argv, .input = input}, NULL, err) == 0)
			return 0;
		if (ms > 1280 || !strstr(err->text, "dataset is busy"))
			return -1;
		nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000},
			  NULL);
	}
}
