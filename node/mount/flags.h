/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_FLAGS_H
#define ZCSI_NODE_MOUNT_FLAGS_H

/*
 * The mount flags that a volume may ask for. attrs are the MOUNT_ATTR_ bits of mount_setattr(2).
 * Any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* Apply one flag ("noatime") to *attrs. Returns false if the flag is not in the table. */
bool mount_attr_apply(const char *name, uint64_t *attrs);
/*
 * Apply a volume's flags to *attrs; flags of NFS are accepted and skipped. Returns 0, or -1 with
 * ERR_INVALID_ARGUMENT, which lists the known flags.
 */
int mount_attrs_parse(char *const *names, size_t n, uint64_t *attrs, struct error *err);
/* Returns true for a flag of NFS, such as "vers=4.1" or "nolock"; the value is not checked. */
bool mount_flag_is_nfs(const char *flag);

#endif
