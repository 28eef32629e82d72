/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The parser of /proc/self/mountinfo. Each row, printed as a line, is parsed to the same row, and
 * every lookup returns a row that matches it.
 */
#include <inttypes.h>
#include <string.h>

#include "node/mount/mount.h"
#include "tests/fuzz/fuzz.h"

/* Returns a text escaped as the kernel does; every special byte becomes an octal escape. */
static char *escaped(struct arena *arena, const char *text)
{
	char *out = arena_alloc(arena, strlen(text) * 4 + 1);

	for (char *to = out; *text; text++) {
		unsigned char c = (unsigned char)*text;
		bool plain = c > ' ' && c != '\\';
		*to++ = (char)(plain ? c : '\\');
		if (plain)
			continue;
		*to++ = (char)('0' + c / 64);
		*to++ = (char)('0' + c / 8 % 8);
		*to++ = (char)('0' + c % 8);
	}
	return out;
}

static void check_row(struct arena *arena, const struct mount *row)
{
	struct mount_table table;
	char *text = arena_printf(arena, "%d %d 0:1 %s %s rw shared:%d master:%d - %s %s rw",
				  row->id, row->parent, escaped(arena, row->root),
				  escaped(arena, row->target), row->shared, row->master,
				  escaped(arena, row->type), escaped(arena, row->source));

	mount_table_parse(arena, text, &table);
	MUST(table.n == 1);
	const struct mount *again = table.rows;
	MUST(again->id == row->id && again->parent == row->parent);
	MUST(again->shared == row->shared && again->master == row->master);
	MUST(!strcmp(again->target, row->target) && !strcmp(again->source, row->source));
	MUST(!strcmp(again->type, row->type) && !strcmp(again->root, row->root));
}

static void check_lookups(const struct mount_table *table, const struct mount *row)
{
	const struct mount *at = mount_at(table, row->target);
	const struct mount *of = mount_of(table, row->source);
	const struct mount *of_at = mount_of_at(table, row->source, row->target);
	const struct mount *beside = mount_of_elsewhere(table, row->source, row->target);
	const struct mount *target = mount_target_of(table, row);

	MUST(!at || !strcmp(at->target, row->target));
	for (size_t i = 0; at && i < table->n; i++)
		MUST(table->rows[i].parent != at->id || strcmp(table->rows[i].target, at->target));
	MUST(!of || (mount_is_of(of, row->source) && mount_at(table, of->target) == of));
	MUST(!mount_is_of(row, row->source) || of_at);
	MUST(!of_at || (mount_is_of(of_at, row->source) && !strcmp(of_at->target, row->target)));
	MUST(!beside || (mount_is_of(beside, row->source) && !mount_is_staging(beside) &&
			 strcmp(beside->target, row->target)));
	MUST(!target || (target->master == row->shared && target->master));
}

void fuzz_one(const uint8_t *bytes, size_t n)
{
	struct mount_table table;
	struct arena arena;
	size_t lines = 1;

	arena_init(&arena, SIZE_MAX);
	char *text = arena_alloc(&arena, n + 1);
	memcpy(text, bytes, n);
	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	mount_table_parse(&arena, text, &table);
	MUST(table.n <= lines);
	for (size_t i = 0; i < table.n; i++) {
		check_row(&arena, &table.rows[i]);
		check_lookups(&table, &table.rows[i]);
	}
	arena_fini(&arena);
}
