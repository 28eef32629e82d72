/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The parser of `zpool events`. Whatever came before, and whatever a property value contains, the
 * next change is reported; and only the parent, datasets directly below it, and their snapshots are
 * reported.
 */
#include <string.h>

#include "common/mem.h"
#include "node/zfs/events.h"
#include "tests/fuzz/fuzz.h"

#define PARENT "tank/zcsi"
#define CHANGE                                                                                     \
	"Nov 20 2026 12:41:08.107211734\tsysevent.fs.zfs.history_event\n"                          \
	"        pool = \"tank\"\n"                                                                \
	"        history_dsname = \"tank/zcsi/v\"\n"                                               \
	"        history_internal_str = \"\"\n"                                                    \
	"        history_internal_name = \"create\"\n"                                             \
	"        time = 0x6a1f 0x663f1d6\n\n"

static bool is_ours(const char *name)
{
	size_t length = strlen(PARENT);

	return !strncmp(name, PARENT, length) && (!name[length] || name[length] == '/');
}

/* Parse all lines of a text, which is modified. Returns true if the change of CHANGE was
 * reported. */
static bool reports_change(struct events *events, char *text)
{
	struct changed changed;
	bool of_change = false;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		bool is_news = events_line(events, line, &changed);
		MUST(is_news == (changed.all || changed.n > 0));
		MUST(changed.n <= COUNT(changed.names));
		for (size_t i = 0; i < changed.n; i++) {
			MUST(memchr(changed.names[i], '\0', sizeof(changed.names[i])));
			MUST(is_ours(changed.names[i]));
			of_change |= !strcmp(changed.names[i], PARENT "/v");
		}
		of_change |= changed.all;
	}
	return of_change;
}

void fuzz_one(const uint8_t *bytes, size_t n)
{
	struct events events = {.parent = PARENT};
	struct arena arena;

	arena_init(&arena, SIZE_MAX);
	char *text = arena_alloc(&arena, n + 1);
	memcpy(text, bytes, n);
	reports_change(&events, text);
	MUST(reports_change(&events, arena_strdup(&arena, CHANGE)));
	arena_fini(&arena);
}
