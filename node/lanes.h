/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_LANES_H
#define ZCSI_NODE_LANES_H

/*
 * The lanes of the RPCs (transport/workers.h), by what the calls may wait for. Each lane has its
 * own workers, so NodeUnpublishVolume and the List calls are served while other calls wait for a
 * zfs that hangs.
 */

enum lane {
	LANE_UNMOUNT, /* 0, the default: at most two calls wait for a zfs (csi/publish.c) */
	LANE_MOUNT,   /* calls of csi.v1.Node that run zfs or mkfs, or need a mounted volume */
	LANE_CHANGE,  /* calls of zcsi.v1.Agent that run zfs to change the pool */
	LANE_LOOKUP,  /* calls that may run zfs, or wait for one, to find a snapshot or a copy */
	LANE_READ,    /* calls of zcsi.v1.Agent that may read one volume during the first reading of
		       * the pool, and wait for nothing else */
	LANE_LIST,    /* calls of zcsi.v1.Agent that wait for the first reading of the pool */
	LANE_COPY,    /* calls for copies and moves; the begin and the end of streams */
	LANE_KEEP,    /* calls that read or write the files of node/agent/kept.h */
	LANE_CHECK,   /* CheckHost, whose calls wait for one look at ZFS */
};

/* The number of calls of each lane that may run at a time, each on a worker thread. */
#define LANE_BOUNDS                                                                                \
	{                                                                                          \
		[LANE_UNMOUNT] = 4, [LANE_MOUNT] = 8, [LANE_CHANGE] = 8, [LANE_LOOKUP] = 4,        \
		[LANE_READ] = 4, [LANE_LIST] = 4, [LANE_COPY] = 4, [LANE_KEEP] = 2,                \
		[LANE_CHECK] = 2                                                                   \
	}

#endif
