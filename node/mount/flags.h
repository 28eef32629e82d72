/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_FLAGS_H
#define ZCSI_NODE_MOUNT_FLAGS_H

/* The mount flags that a volume may ask for. attrs are MOUNT_ATTR_RDONLY and the like. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* Apply one flag ("noatime") to *attrs. Returns false when no flag has this name. */
bool mount_attr_apply(const char *name, uint64_t *attrs);
/* Apply a volume's flags; ERR_INVALID_ARGUMENT names the known ones. */
int mount_attrs_parse(char *const *names, size_t n, uint64_t *attrs, struct error *err);
/* Returns true for a flag of NFS, such as "vers=4.1" or "nolock"; the value is not looked at. */
bool mount_flag_is_nfs(const char *flag);

#endif
