/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Two programs, and the pipe between them.
 *
 * Invariant: no byte of the stream passes through zcsi-node. Both programs have ended when pair_run
 * returns. `zfs receive` inherits the lock of the parent dataset, so that no later zcsi-node reads
 * the pool before that program has ended.
 */
#include "node/stream/pair.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "common/child.h"
#include "node/stream/program.h"
#include "node/zfs/argv.h"
#include "node/zfs/lock_file.h"

#define LOOK_MS   500 /* between two checks whether zcsi-node ends */
#define PIPE_SIZE (1 << 20)

static int start_send(const struct pair *pair, struct child *ret, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	auto_close int in = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (child_start(ret, argv_complete(&arena, pair->send), in, 0, err) < 0)
		return -1;
	fcntl(ret->out, F_SETPIPE_SZ, PIPE_SIZE);
	return 0;
}

static int start_receive(const struct pair *pair, int from, struct child *ret, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};

	return child_start(ret, argv_complete(&arena, pair->receive), from, lock_file_descriptor(),
			   err);
}

/* Wait for the end of a program, or kill it if zcsi-node ends. Returns its status. */
static int wait_for(const struct pair *pair, struct child *child)
{
	struct pollfd ended = {.fd = child->pidfd, .events = POLLIN};

	while (!rounds_stopping(pair->rounds))
		if (poll(&ended, 1, LOOK_MS) > 0)
			return child_reap(child);
	return child_kill(child);
}

/*
 * If zfs receive ends early, zfs send ends too, because its pipe is broken. If zfs send ends early,
 * zfs receive reports only that the stream is not whole.
 */
static int judge(const struct pair *pair, struct child *send, struct child *receive,
		 struct error *err)
{
	struct error said;

	int received = wait_for(pair, receive);
	int sent = wait_for(pair, send);
	int failed = program_judge(receive, pair->receive, received, true, err);
	if (program_judge(send, pair->send, sent, false, &said) < 0 && !child_signal(sent) &&
	    !strstr(said.text, "Broken pipe")) {
		*err = said;
		failed = -1;
	}
	child_fini(receive);
	child_fini(send);
	return failed;
}

int pair_run(const struct pair *pair, struct error *err)
{
	struct child send = CHILD_NONE, receive = CHILD_NONE;

	if (start_send(pair, &send, err) < 0)
		return -1;
	int failed = start_receive(pair, send.out, &receive, err);
	close(steal_fd(&send.out));
	if (!failed)
		return judge(pair, &send, &receive, err);
	child_kill(&send);
	child_fini(&send);
	return -1;
}
