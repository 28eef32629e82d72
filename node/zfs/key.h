/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_KEY_H
#define ZCSI_NODE_ZFS_KEY_H

/*
 * Keys of encrypted volumes. A volume has a key of its own, and its clones share it; one that has
 * its key from the parent dataset, or from above, leaves it to whoever looks after that.
 *
 * A key is loaded for the first staging and unloaded after the last: ZFS itself knows whether
 * anything that it opens is in use, and then calls it busy. So nobody counts and nothing is
 * locked; who finds the key gone between loading and mounting loads it again.
 */

#include "common/error.h"
#include "node/zfs/zfs.h"

/*
 * What `zfs create` needs for a new one besides the encryption: 64 hexadecimal digits are the key
 * itself, other text is a passphrase. ERR_UNAUTHENTICATED when there is none.
 */
int key_describe(const char *key, struct zfs_properties *properties, struct error *err);

/*
 * Load what opens the dataset, unless it is loaded; secret may be NULL. ERR_UNAUTHENTICATED when
 * there is none or it is the wrong one.
 */
int key_load(const char *dataset, const char *secret, struct error *err);
/* Unload it, unless something that is in use needs it or it is unloaded. */
int key_unload(const char *dataset, struct error *err);

#endif
