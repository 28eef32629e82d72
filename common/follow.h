/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_FOLLOW_H
#define ZCSI_FOLLOW_H

/*
 * Follow a program that runs as long as we do, line by line of its stdout. It does not outlive us,
 * however we end: its stdin is a pipe whose other end is ours, and the kernel sends it SIGIO,
 * which ends a program that does not expect it, when that end is closed.
 */

#include "common/child.h"

#define FOLLOW_LINE_MAX 16384 /* bytes; of a longer line the rest is left out */

struct follow {
	struct child child;
	int lifeline;
	const char *name;
};

/* The argv must stay as long as the program runs. */
int follow_start(struct follow *follow, const char *const *argv, struct error *err);
/*
 * Each line as it comes, without its newline, until the descriptor `stop` can be read: 0; or the
 * program has ended: -1 with what it said on stderr. Nothing runs afterwards. Blocks.
 */
int follow_lines(struct follow *follow, int stop, void (*line)(void *arg, const char *line),
		 void *arg, struct error *err);
/* For what was started and is not followed. */
void follow_end(struct follow *follow);

#endif
