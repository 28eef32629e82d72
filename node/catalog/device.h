/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_DEVICE_H
#define ZCSI_NODE_CATALOG_DEVICE_H

/* The device because of which a pool is not ONLINE, as `zpool status` names it. */

#define DEVICE_NAME_MAX  256
#define DEVICE_STATE_MAX 16

struct device {
	char name[DEVICE_NAME_MAX]; /* name of the device; "": none is known */
	char state[DEVICE_STATE_MAX];
};

/* *ret is the first device in what `zpool status` prints that is not ONLINE. Pure. */
void device_parse(const char *printed, struct device *ret);
/*
 * *ret is the first device that is not ONLINE of the pool of a parent dataset. Runs zpool; if that
 * fails, ret->name is "". Any thread that may block.
 */
void device_read(const char *parent, struct device *ret);

#endif
