/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_PRINT_PROGRESS_H
#define ZCSI_CLI_PRINT_PROGRESS_H

/* How far a transfer is, as a text, and as a line of the terminal that is redrawn. */

#include <stdbool.h>
#include <stdint.h>

#include "common/mem.h"

struct progress {
	uint64_t sent, total; /* bytes; total is an estimate, 0: not known */
	int64_t ms;           /* milliseconds since the first byte */
};

/* Returns "1.20G of 40.0G, 98.0M/s, about 7 min" in the arena; what is not known is left out. */
char *progress_text(struct arena *arena, const struct progress *progress);

/* The line on stderr; zeroed before its first use. */
struct progress_line {
	int64_t shown; /* when the line was last drawn, by now_ms(); 0: not yet */
	int width;
};

/* Returns true if a line is to be drawn now: on a terminal, and once a second. */
bool progress_line_due(const struct progress_line *line);
void progress_line_draw(struct progress_line *line, const char *text);
/* Blank the line, so that something else can be printed in its place. */
void progress_line_clear(struct progress_line *line);
/* Draw the last text, and end the line; do nothing if none was drawn. */
void progress_line_end(struct progress_line *line, const char *text);

#endif
