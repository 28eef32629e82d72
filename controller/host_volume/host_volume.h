/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_HOST_VOLUME_HOST_VOLUME_H
#define ZCSI_HOST_VOLUME_HOST_VOLUME_H

/* The operations of the plugin. Each may be repeated. They return 0, or -1 with *err. */

#include "controller/host_volume/local.h"
#include "controller/host_volume/request.h"

/* Make the volume if it is new, larger if it is too small, and mount it. *ret_size: its size. */
int create_run(struct local *local, const struct request *request, int64_t *ret_size,
	       struct error *err);
/* Unmount the volume, and delete it, which puts it into the trash. */
int delete_run(struct local *local, const struct request *request, struct error *err);

/* Record that this host uses the volume, and mount it at the path. */
int mount_run(struct local *local, const char *volume, const char *path, struct error *err);

#endif
