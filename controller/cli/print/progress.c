/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Progress: bytes, speed and the time that is left, as an average since the first byte.
 *
 * Invariant: nothing is drawn unless stderr is a terminal.
 */
#include "controller/cli/print/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "controller/cli/print/amount.h"

#define REDRAW_MS 1000

char *progress_text(struct arena *arena, const struct progress *progress)
{
	uint64_t sent = progress->sent, total = progress->total;
	char *text = amount_bytes(arena, sent);

	if (total)
		text = arena_printf(arena, "%s of %s", text, amount_bytes(arena, total));
	if (!sent || progress->ms <= 0)
		return text;
	double speed = (double)sent * 1000 / (double)progress->ms;
	text = arena_printf(arena, "%s, %s/s", text, amount_bytes(arena, (uint64_t)speed));
	/* Without an estimate, or if more than it was sent, the remaining time is left out. */
	if (total <= sent || speed < 1)
		return text;
	return arena_printf(arena, "%s, about %s", text,
			    amount_time(arena, (int64_t)((double)(total - sent) / speed)));
}

bool progress_line_due(const struct progress_line *line)
{
	return (!line->shown || now_ms() - line->shown >= REDRAW_MS) && isatty(STDERR_FILENO);
}

void progress_line_draw(struct progress_line *line, const char *text)
{
	fprintf(stderr, "\r%-*s", line->width, text);
	line->width = (int)strlen(text);
	line->shown = now_ms();
}

void progress_line_clear(struct progress_line *line)
{
	if (!line->shown)
		return;
	fprintf(stderr, "\r%*s\r", line->width, "");
	*line = (struct progress_line){0};
}

void progress_line_end(struct progress_line *line, const char *text)
{
	if (!line->shown)
		return;
	progress_line_draw(line, text);
	fputc('\n', stderr);
}
