/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Starting, feeding and ending the program of a stream.
 *
 * Invariant: a program that changes the pool is waited for by the next zcsi-node, if this one is
 * killed; a `zfs send` is killed with its call.
 */
#include "node/stream/program_stream_ends.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "node/stream/program.h"
#include "node/zfs/argv.h"
#include "node/zfs/lock_file.h"
#include "node/zfs/zfs_run.h"
#include "transport/pump.h"

int program_stream_start_reader(struct program_stream *ps, const char *const *argv,
				struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno(err, "cannot make a pipe");
	/* A reader changes the pool: if this zcsi-node is killed, the next one waits for it. */
	int failed = child_start(&ps->child, argv_complete(&ps->arena, argv), ends[0],
				 lock_file_descriptor(), err);
	close(ends[0]);
	if (failed)
		close(ends[1]);
	else
		ps->to = ends[1];
	return failed;
}

void program_stream_feed(struct program_stream *ps)
{
	pump_in(ps->stream, steal_fd(&ps->to), program_stream_pumped);
	rpc_stream_resume(ps->stream);
}

/* A zfs receive that does not end soon after its input waits for a pool that hangs. */
int program_stream_reap_reader(struct program_stream *ps)
{
	struct pollfd ended = {.fd = ps->child.pidfd, .events = POLLIN};

	mem_cleanup_close(&ps->to);
	return poll(&ended, 1, (int)zfs_run_timeout()) > 0 ? child_reap(&ps->child)
							   : child_kill(&ps->child);
}

int program_stream_start_sender(struct program_stream *ps, const char *const *argv,
				struct error *err)
{
	auto_close int in = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return child_start(&ps->child, argv_complete(&ps->arena, argv), in, 0, err);
}

void program_stream_drain(struct program_stream *ps)
{
	pump_out(ps->stream, steal_fd(&ps->child.out), program_stream_pumped);
}

int program_stream_end_sender(struct program_stream *ps, struct error *err)
{
	static const char *const argv[] = {"zfs", "send"};
	int status = ps->whole ? child_reap(&ps->child) : child_kill(&ps->child);
	int failed = ps->whole ? program_judge(&ps->child, argv, status, false, err) : 0;

	child_fini(&ps->child);
	return failed;
}
