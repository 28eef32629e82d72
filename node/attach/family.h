/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_FAMILY_H
#define ZCSI_NODE_ATTACH_FAMILY_H

/*
 * Families of encrypted volumes: a volume and its clones, which share one key. Functions run
 * zfs(8), so they block. Any thread.
 */

#include "node/zfs/key.h"
#include "transport/rpc.h"

struct family {
	struct key key; /* the key of the family, read after the lock */
	char *lock;     /* the locked key of catalog_lock_key, in the call's arena */
};

/*
 * Lock the family of an encrypted volume, so that no other call unloads its key. dataset: the ZFS
 * name of the volume. Returns 0, or -1 with *err: ERR_ABORTED after the call's deadline.
 */
int family_lock(struct rpc_call *call, const char *dataset, struct family *ret, struct error *err);
void family_unlock(struct rpc_call *call, const struct family *family);

/*
 * Unload the key of a volume, unless one of its family is staged on this host. Returns 0 also if
 * the key stays loaded, or -1 with *err. Locks the family.
 */
int family_unload_key(struct rpc_call *call, const char *dataset, struct error *err);

#endif
