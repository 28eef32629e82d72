/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_KEY_H
#define ZCSI_NODE_ZFS_KEY_H

/*
 * Loading and unloading the keys of encrypted volumes. A volume has its own key, which its clones
 * share. A key that a volume inherits from the parent dataset, or from above, is not managed here.
 *
 * A key is loaded before the first staging and unloaded after the last (node/attach/family.h).
 *
 * Functions run zfs(8), so they block, and return 0, or -1 with *err. Any thread.
 */

#include <stdbool.h>

#include "common/error.h"
#include "node/record/dataset.h"
#include "node/zfs/zfs.h"

/*
 * Add the properties that `zfs create` needs besides `encryption`. 64 hexadecimal digits are the
 * key itself; other text is a passphrase. ERR_UNAUTHENTICATED if the key is empty,
 * ERR_INVALID_ARGUMENT if it is neither, ERR_FAILED_PRECONDITION with zfs-fuse.
 */
int key_describe(const char *key, struct zfs_properties *properties, struct error *err);
/* Check that the ZFS of this host can encrypt. Returns -1 with ERR_FAILED_PRECONDITION. */
int key_check_possible(struct error *err);

/* The key of a dataset. */
struct key {
	char root[DATASET_NAME_MAX + 1]; /* the encryption root; "-" if there is none */
	bool loaded;
	bool managed; /* the root is a volume, which may be in the trash */
};

int key_read(const char *dataset, struct key *ret, struct error *err);
/*
 * Load the key of the dataset. If the key was loaded when *key was read, only check the secret, and
 * change nothing. secret: the key or NULL. ERR_UNAUTHENTICATED if it is wrong, or needed and
 * missing.
 */
int key_load(const char *dataset, const struct key *key, const char *secret, struct error *err);
/* *ret is true if the key is loaded and one of n datasets has it. Any of these may be gone. */
int key_is_shared(struct arena *arena, const struct key *key, const char *const *names, size_t n,
		  bool *ret, struct error *err);
/* Unload the key, unless ZFS says it is in use, or it was not loaded when *key was read. */
int key_unload(const struct key *key, struct error *err);

#endif
