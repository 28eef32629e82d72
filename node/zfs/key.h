/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_KEY_H
#define ZCSI_NODE_ZFS_KEY_H

/*
 * Loading and unloading the keys of encrypted volumes. A volume has its own key, which its clones
 * share. A key that a volume inherits from the parent dataset, or from above, is not managed here.
 *
 * A key is loaded before the first staging and unloaded after the last. ZFS refuses to unload a key
 * in use ("busy"), so no reference counts and no locks are needed: if a key disappears between
 * loading and mounting, the caller loads it again.
 *
 * Functions run zfs(8), so they block, and return 0, or -1 with *err. Any thread.
 */

#include "common/error.h"
#include "node/zfs/zfs.h"

/*
 * Add the properties that `zfs create` needs besides `encryption`. 64 hexadecimal digits are the
 * key itself; other text is a passphrase. ERR_UNAUTHENTICATED if the key is empty,
 * ERR_INVALID_ARGUMENT if it is neither, ERR_FAILED_PRECONDITION with zfs-fuse.
 */
int key_describe(const char *key, struct zfs_properties *properties, struct error *err);

/*
 * Load the dataset's key, unless it is loaded. secret: the key or NULL. ERR_UNAUTHENTICATED if a
 * secret is needed and is missing or wrong.
 */
int key_load(const char *dataset, const char *secret, struct error *err);
/* Unload the dataset's key, unless it is in use or not loaded. */
int key_unload(const char *dataset, struct error *err);

#endif
