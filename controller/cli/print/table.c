/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tables for people and for programs: aligned columns, a tab between them, or JSON.
 *
 * Invariant: a row is one line, and with -H it has exactly one tab between two columns, whatever
 * the texts contain. JSON is valid (RFC 8259) whatever the texts contain: a byte that is not UTF-8
 * becomes U+FFFD.
 */
#include "controller/cli/print/table.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "common/utf8.h"
#include "controller/cli/print/amount.h"
#include "controller/cli/print/json.h"

#define NOTHING "-"

/* Returns the text with a '?' for each control character, and for each byte that is not UTF-8. */
static char *printable(struct arena *arena, const char *text)
{
	char *copy = arena_alloc(arena, strlen(text) + 1), *to = copy;

	while (*text) {
		size_t n = utf8_sequence(text, strlen(text));
		size_t control = utf8_control(text);
		if (n && !control) {
			memcpy(to, text, n);
			to += n;
		} else {
			*to++ = '?';
		}
		text += control ? control : n ? n : 1;
	}
	return copy;
}

static const char *joined(struct arena *arena, const char *const *words)
{
	char *text = NULL;

	for (; words && *words; words++)
		text = text ? arena_printf(arena, "%s,%s", text, *words)
			    : arena_strdup(arena, *words);
	return text;
}

/* Returns the cell as it is printed, in the arena. */
static const char *shown(struct arena *arena, const struct column *column, const struct cell *cell,
			 const struct style *style)
{
	const char *text = column->kind == CELL_WORDS ? joined(arena, cell->words) : cell->text;

	if (column->kind == CELL_TEXT || column->kind == CELL_WORDS)
		return text && *text ? printable(arena, text) : NOTHING;
	if (cell->number < 0)
		return NOTHING;
	if (column->kind == CELL_BYTES && !style->exact)
		return amount_bytes(arena, (uint64_t)cell->number);
	if (column->kind == CELL_MOMENT && !style->exact)
		return amount_moment(arena, cell->number);
	return arena_printf(arena, "%" PRId64, cell->number);
}

static const char *heading(struct arena *arena, const struct column *column)
{
	char *text = arena_strdup(arena, column->name);

	for (char *at = text; *at; at++)
		*at = *at == '_' ? ' ' : (char)toupper((unsigned char)*at);
	return text;
}

/* Returns the number of characters; a character is taken to be one column wide. */
static int width(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static bool is_number(const struct column *column)
{
	return column->kind == CELL_BYTES || column->kind == CELL_COUNT;
}

/* Print a line of texts. Numbers are aligned at their right; the last text is not padded. */
static void put_line(FILE *out, const struct table *table, const char *const *texts,
		     const int *widths, const struct style *style)
{
	for (size_t i = 0; i < table->n_columns; i++) {
		int pad = widths[i] - width(texts[i]);
		bool last = i + 1 == table->n_columns, right = is_number(&table->columns[i]);
		if (style->bare)
			fprintf(out, "%s%s", texts[i], last ? "\n" : "\t");
		else
			fprintf(out, "%*s%s%*s%s", right ? pad : 0, "", texts[i],
				right || last ? 0 : pad, "", last ? "\n" : "  ");
	}
}

/* Print the heading, unless the style is bare, and the rows of a range. */
static void put_rows(FILE *out, const struct table *table, const struct style *style, bool headed,
		     size_t from, size_t end)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	size_t n = table->n_columns, lines = table->n_rows + 1;
	const char **texts = arena_alloc(&arena, lines * n * sizeof(*texts));
	int *widths = arena_alloc(&arena, n * sizeof(*widths));

	for (size_t i = 0; i < lines * n; i++) {
		const struct column *column = &table->columns[i % n];
		texts[i] = i < n ? heading(&arena, column)
				 : shown(&arena, column, &table->cells[i - n], style);
		if (width(texts[i]) > widths[i % n])
			widths[i % n] = width(texts[i]);
	}
	if (headed && !style->bare)
		put_line(out, table, texts, widths, style);
	for (size_t row = from; row < end; row++)
		put_line(out, table, texts + (row + 1) * n, widths, style);
}

/* Print a row as a line for each column: its name and its value. */
static void put_record(FILE *out, const struct table *table, const struct style *style)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	int widest = 0;

	for (size_t i = 0; i < table->n_columns; i++)
		if (width(table->columns[i].name) > widest)
			widest = width(table->columns[i].name);
	for (size_t i = 0; i < table->n_columns; i++) {
		const struct column *column = &table->columns[i];
		fprintf(out, "%-*s%s%s\n", style->bare ? 0 : widest, column->name,
			style->bare ? "\t" : "  ", shown(&arena, column, &table->cells[i], style));
	}
}

/* JSON */

static void json_words(FILE *out, const char *const *words)
{
	fputc('[', out);
	for (size_t i = 0; words && words[i]; i++) {
		fputs(i ? ", " : "", out);
		json_text(out, words[i]);
	}
	fputc(']', out);
}

static void json_cell(FILE *out, const struct column *column, const struct cell *cell)
{
	if (column->kind == CELL_WORDS)
		json_words(out, cell->words);
	else if (column->kind == CELL_TEXT && cell->text && *cell->text)
		json_text(out, cell->text);
	else if (column->kind == CELL_TEXT || cell->number < 0)
		fputs("null", out);
	else
		fprintf(out, "%" PRId64, cell->number);
}

static void json_row(FILE *out, const struct table *table, size_t row)
{
	for (size_t i = 0; i < table->n_columns; i++) {
		fputs(i ? ", " : "{", out);
		json_text(out, table->columns[i].name);
		fputs(": ", out);
		json_cell(out, &table->columns[i], &table->cells[row * table->n_columns + i]);
	}
	fputc('}', out);
}

static void json_table(FILE *out, const struct table *table, const struct silence *silences,
		       size_t n_silences)
{
	fprintf(out, "{\"version\": 1,\n \"%s\": %s", table->name, table->is_record ? "" : "[");
	for (size_t row = 0; row < table->n_rows; row++) {
		fputs(row ? ",\n  " : table->is_record ? "" : "\n  ", out);
		json_row(out, table, row);
	}
	fprintf(out, "%s,\n \"silent\": [", table->is_record ? "" : "]");
	for (size_t i = 0; i < n_silences; i++) {
		fputs(i ? ",\n  {\"agent\": " : "\n  {\"agent\": ", out);
		json_text(out, silences[i].agent);
		fputs(", \"error\": ", out);
		json_text(out, silences[i].error);
		fputc('}', out);
	}
	fputs("]}\n", out);
}

void table_print(FILE *out, const struct table *table, const struct style *style,
		 const struct silence *silences, size_t n_silences)
{
	if (style->json)
		json_table(out, table, silences, n_silences);
	else if (table->is_record)
		put_record(out, table, style);
	else
		put_rows(out, table, style, true, 0, table->n_rows);
}

void table_print_row(FILE *out, const struct table *table, const struct style *style, size_t row,
		     bool first)
{
	put_rows(out, table, style, first, row, row + 1);
}
