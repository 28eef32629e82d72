/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_LANES_H
#define ZCSI_NODE_LANES_H

/*
 * The lanes of the calls (transport/workers.h), by what the calls may wait for. Lanes have workers
 * of their own, so a volume is unmounted and the lists are read while other calls wait for a zfs
 * that hangs.
 */

enum lane {
	LANE_UNMOUNT, /* 0, the default: calls that wait for no program (but see csi/renamed.h) */
	LANE_MOUNT,   /* calls of a node that run zfs or mkfs, or need a volume to be mounted */
	LANE_CHANGE,  /* calls of the agent that run zfs to change the pool */
	LANE_LOOKUP,  /* calls of the agent that may run zfs, or wait for one, to find a snapshot */
	LANE_READ, /* calls of the agent that wait for the first reading of the pool only, and that
		       * may read one volume during it */
	LANE_COPY, /* the begin and the end of streams, which run zfs or wait for its end */
	LANE_KEEP, /* calls of the agent that read or write the files of kept names */
};

/* How many calls of a lane run at a time; each may have a worker. */
#define LANE_BOUNDS                                                                                \
	{                                                                                          \
		[LANE_UNMOUNT] = 4, [LANE_MOUNT] = 8, [LANE_CHANGE] = 8, [LANE_LOOKUP] = 4,        \
		[LANE_READ] = 4, [LANE_COPY] = 4, [LANE_KEEP] = 2                                  \
	}

#endif
