/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The folder that is new after a boot. See run_folder.h.
 *
 * Another zcsi-node may be making it at the same moment; where systemd runs us it is there.
 */
#include "node/zfs/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int run_folder_make(struct error *err)
{
	if (access(RUN_FOLDER, F_OK) < 0 && mkdir(RUN_FOLDER, 0755) < 0 && errno != EEXIST)
		return fail_errno(err, "cannot make the directory '" RUN_FOLDER "'");
	return 0;
}

int run_folder_open(const char *file, struct error *err)
{
	if (run_folder_make(err) < 0)
		return -1;
	int opened = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return opened < 0 ? fail_errno(err, "cannot open '%s'", file) : opened;
}
