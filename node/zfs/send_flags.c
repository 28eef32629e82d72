/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The options of `zfs send`.
 *
 * Invariant: a dataset is never encrypted or decrypted by zcsi, and -L is always given, so all
 * streams of a volume have the same options, and each may follow any other (zfs-send(8)).
 */
#include "node/zfs/send_flags.h"

#include <string.h>

#include "node/zfs/key.h"
#include "node/zfs/zfs_run.h"

const char *send_flags_for(bool encrypted)
{
	return encrypted ? "-w" : "-Lc";
}

int send_flags(const char *dataset, const char **ret, struct error *err)
{
	struct key key;

	*ret = NULL;
	if (!zfs_is_the_kernels())
		return 0;
	if (key_read(dataset, &key, err) < 0)
		return -1;
	*ret = send_flags_for(strcmp(key.root, "-") != 0);
	return 0;
}
