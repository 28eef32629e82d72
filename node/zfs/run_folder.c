/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The directory /run/zcsi.
 *
 * Invariant: the directory exists when a function of this file returns success. Another zcsi-node
 * may create it at the same moment; systemd creates it before it starts zcsi-node.
 */
#include "node/zfs/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int run_folder_make(struct error *err)
{
	if (access(RUN_FOLDER, F_OK) < 0 && mkdir(RUN_FOLDER, 0755) < 0 && errno != EEXIST)
		return fail_errno(err, "cannot create the directory '" RUN_FOLDER "'");
	return 0;
}

int run_folder_open(const char *file, struct error *err)
{
	if (run_folder_make(err) < 0)
		return -1;
	int opened = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return opened < 0 ? fail_errno(err, "cannot open '%s'", file) : opened;
}
