/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_VOLUME_EPOCH_H
#define ZCSI_VOLUME_EPOCH_H

/*
 * The epochs of a volume's owners (CopyState in proto/copy.proto): a whole number that a move
 * increments by one.
 */

/*
 * The epoch of a failover is higher by this, at least, than that of each copy that survived. A copy
 * that was silent knows nothing of the moves meanwhile, and none of their epochs may be used again.
 */
#define EPOCH_FAILOVER 1000

#endif
