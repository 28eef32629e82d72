/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_FOLLOW_H
#define ZCSI_FOLLOW_H

/*
 * Follow a long-running program line by line of its stdout. It does not outlive this process, even
 * if the process is killed: its stdin is a pipe whose write end is ours, and when that end is
 * closed, the kernel sends SIGIO, whose default action ends the program.
 */

#include "common/child.h"

#define FOLLOW_LINE_MAX 16384 /* bytes of a line; the rest of a longer line is dropped */

struct follow {
	struct child child;
	int lifeline; /* write end of the pipe to the program's stdin */
	const char *name;
};

/*
 * Start a program. argv[0] must live as long as the program is followed. Returns -1 if it was not
 * started, and then needs no follow_end.
 */
int follow_start(struct follow *follow, const char *const *argv, struct error *err);
/*
 * Call line(arg, line) for each line, without its newline, until the descriptor stop is readable or
 * the program ends. Returns 0 in the first case and kills the program; returns -1 with the first
 * line of stderr in *err in the second case. Frees follow. Blocks.
 */
int follow_lines(struct follow *follow, int stop, void (*line)(void *arg, const char *line),
		 void *arg, struct error *err);
/* Kill a program for which follow_lines is not called, and free follow. */
void follow_end(struct follow *follow);

#endif
