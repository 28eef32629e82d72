/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A program whose output or input is a stream: whether it can run, and how it ended.
 *
 * Invariant: a program that a signal ended, or that exited with another status than 0, has failed.
 */
#include "node/stream/program.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "node/zfs/hung.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_run.h"

#define SAID_MAX 1024 /* bytes of stderr that are read */

int program_check(struct error *err)
{
	auto_free char *hung = hung_text();

	if (ssh_server())
		return fail(err, ERR_FAILED_PRECONDITION,
			    "zcsi-node neither sends nor receives volumes of the server '%s'; run "
			    "'zfs send' and 'zfs receive' there",
			    ssh_server());
	if (hung)
		return fail(err, ERR_UNAVAILABLE, "%s", hung);
	return 0;
}

/*
 * Returns what the program wrote to stderr. The program has ended, so all of its text is in the
 * pipe.
 */
static void read_said(int fd, char ret_said[SAID_MAX])
{
	int n = 0;

	ret_said[0] = '\0';
	if (ioctl(fd, FIONREAD, &n) < 0 || n <= 0)
		return;
	ssize_t got = read(fd, ret_said, n < SAID_MAX ? (size_t)n : SAID_MAX - 1);
	ret_said[got > 0 ? got : 0] = '\0';
}

int program_judge(struct child *child, const char *const *argv, int status, bool said_is_fatal,
		  struct error *err)
{
	char said[SAID_MAX];

	read_said(child->error, said);
	if (status < 0 || child_signal(status))
		return fail(err, ERR_UNAVAILABLE, "'%s %s' was killed by signal %d; try again",
			    argv[0], argv[1], child_signal(status));
	if (status != 0 || (said_is_fatal && *said))
		return zfs_fail(*said ? said : "nothing, and failed", err);
	return 0;
}
