/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_STREAM_COPIES_H
#define ZCSI_NODE_STREAM_COPIES_H

struct backups;  /* node/backup/backups.h */
struct detacher; /* node/change/detacher.h */
struct loop;
struct mover;          /* node/move/mover.h */
struct program_stream; /* node/stream/program_stream.h */
struct pusher;         /* node/copy/pusher.h */
struct workers;

/*
 * The state of zcsi.v1.Copy, Replica and Backup. The pointers do not change after the start;
 * `streams` is for the loop only.
 */
struct copies {
	struct loop *loop;
	struct workers *workers;        /* threads that start and end the programs of streams */
	struct pusher *pusher;          /* NULL on a node without a pool */
	struct mover *mover;            /* NULL on a node without a pool */
	struct backups *backups;        /* NULL on a node without a pool */
	struct detacher *detacher;      /* NULL on a node without a pool */
	struct program_stream *streams; /* the streams that run */
};

#endif
