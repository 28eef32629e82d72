/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A single stream of a push: a `zfs send` here, whose output goes to Receive of the other node.
 *
 * Invariant: a stream has arrived only if the other node said so, and zfs exited with 0. A zfs send
 * whose stream has failed is killed; it changes nothing.
 */
#include "node/copy/part.h"

#include <fcntl.h>
#include <inttypes.h>

#include "common/clock.h"
#include "node/catalog/catalog.h"
#include "node/copy/header.h"
#include "node/stream/program.h"
#include "node/zfs/argv.h"
#include "node/zfs/send_flags.h"
#include "node/zfs/zfs_run.h"

#define FIND_MS      10000 /* to wait for the catalog */
#define RESERVE_PART 20    /* a copy leaves a 20th of the other pool's free space to others */

static const char **send_command(struct push *push, size_t *ret_n)
{
	const char **argv = arena_alloc(push->arena, 8 * sizeof(*argv));

	argv[0] = "zfs";
	argv[1] = "send";
	*ret_n = 2;
	return argv;
}

/* Send the output of a `zfs send` as the stream that ends with the snapshot of push->header. */
static int send(struct push *push, const char *const *argv, struct error *err)
{
	auto_close int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct child child = CHILD_NONE;
	struct error said;

	if (child_start(&child, argv_complete(push->arena, argv), in, 0, err) < 0)
		return -1;
	push->transfer.header = push->header;
	if (!push->progress->begun)
		push->progress->begun = now_ms();
	int failed =
		transfer_run(&push->transfer, push->arena, steal_fd(&child.out), &push->copy, err);
	/*
	 * If the other node failed, zfs still runs. If zfs failed, its error caused that of the
	 * stream.
	 */
	if (!failed)
		push->available = push->copy->available;
	int status = failed && !child_has_ended(&child) ? child_kill(&child) : child_reap(&child);
	if (!child_signal(status) && program_judge(&child, argv, status, false, &said) < 0) {
		*err = said;
		failed = -1;
	}
	child_fini(&child);
	return failed;
}

static int check_room(const struct push *push, int64_t bytes, struct error *err)
{
	int64_t room = push->available - push->available / RESERVE_PART;

	if (bytes <= room)
		return 0;
	return fail(err, ERR_RESOURCE_EXHAUSTED,
		    "%" PRId64 " bytes are to be sent, and the pool there has room for %" PRId64
		    "; free space there or add a device",
		    bytes, room);
}

SnapshotRecord *part_record(const struct push *push, const struct point *point)
{
	const char *id = snapshot_id(push->arena, push->volume->id, point->leaf);
	struct snapshot *known = NULL;
	struct error ignored;

	catalog_snapshot(push->node->catalog, now_ms() + FIND_MS, push->arena, id, &known,
			 &ignored);
	return header_record(push->arena, point->leaf, point->guid, known);
}

static const char **part_command(struct push *push, const struct part *part, size_t *ret_n)
{
	const char **argv = send_command(push, ret_n);

	argv[(*ret_n)++] = push->flags;
	if (part->base) {
		argv[(*ret_n)++] = "-i";
		argv[(*ret_n)++] = part->base->name;
	}
	argv[(*ret_n)++] = part->to->name;
	return argv;
}

int part_estimate(struct push *push, struct part *part, struct error *err)
{
	size_t n;
	const char **argv = part_command(push, part, &n);

	if (send_estimate(argv, n, &part->size, err) < 0)
		return -1;
	push->progress->total += (uint64_t)part->size;
	return 0;
}

int part_send(struct push *push, const struct part *part, struct error *err)
{
	size_t n;
	const char **argv = part_command(push, part, &n);

	if (check_room(push, part->size, err) < 0)
		return -1;
	header_end(push->header, part_record(push, part->to));
	return send(push, argv, err);
}

uint64_t part_of_token(struct push *push, int64_t *ret_size)
{
	return send_of_token(push->copy->token, ret_size);
}

int part_send_rest(struct push *push, const struct point *to, struct error *err)
{
	size_t n;
	const char **argv = send_command(push, &n);

	argv[n++] = "-t";
	argv[n++] = push->copy->token;
	header_end(push->header, part_record(push, to));
	return send(push, argv, err);
}
