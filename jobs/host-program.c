/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A program of the container image, which has no shell: it runs the host's program of the name by
 * which it is called. The image has links to it under the names of the programs of zcsi-node.
 *
 * The program runs in the root directory of the host's first process. A mount of the host's / in
 * the container would show each volume to zcsi-node twice.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROOT "/host/proc/1/root" /* jobs/node.nomad.hcl gives the container /host/proc */

int main(int argc, char **argv)
{
	(void)argc;
	const char *slash = strrchr(argv[0], '/');
	const char *name = slash ? slash + 1 : argv[0];

	if (chroot(ROOT) < 0 || chdir("/") < 0) {
		fprintf(stderr,
			"%s is the host's: give the container the host's /proc as /host/proc "
			"(%s)\n",
			name, strerror(errno));
		return 127;
	}
	execvp(name, argv);
	fprintf(stderr, "%s: the host cannot run it: %s\n", name, strerror(errno));
	return 127;
}
