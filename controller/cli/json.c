/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tables as JSON.
 *
 * Invariant: the output is valid JSON (RFC 8259) whatever the texts contain. A byte that is not
 * UTF-8 becomes U+FFFD.
 */
#include "controller/cli/json.h"

#include <inttypes.h>
#include <string.h>

#include "common/utf8.h"

static void put_text(FILE *out, const char *text)
{
	fputc('"', out);
	while (*text) {
		size_t n = utf8_sequence(text, strlen(text));
		unsigned char byte = (unsigned char)*text;
		if (!n)
			fputs("\\ufffd", out);
		else if (byte < 0x20 || byte == '"' || byte == '\\')
			fprintf(out, "\\u%04x", byte);
		else
			fwrite(text, 1, n, out);
		text += n ? n : 1;
	}
	fputc('"', out);
}

static void put_words(FILE *out, const char *const *words)
{
	fputc('[', out);
	for (size_t i = 0; words && words[i]; i++) {
		fputs(i ? ", " : "", out);
		put_text(out, words[i]);
	}
	fputc(']', out);
}

static void put_cell(FILE *out, const struct column *column, const struct cell *cell)
{
	if (column->kind == CELL_WORDS)
		put_words(out, cell->words);
	else if (column->kind == CELL_TEXT && cell->text && *cell->text)
		put_text(out, cell->text);
	else if (column->kind == CELL_TEXT || cell->number < 0)
		fputs("null", out);
	else
		fprintf(out, "%" PRId64, cell->number);
}

static void put_row(FILE *out, const struct table *table, size_t row)
{
	for (size_t i = 0; i < table->n_columns; i++) {
		fputs(i ? ", " : "{", out);
		put_text(out, table->columns[i].name);
		fputs(": ", out);
		put_cell(out, &table->columns[i], &table->cells[row * table->n_columns + i]);
	}
	fputc('}', out);
}

void json_table(FILE *out, const struct table *table, const struct silence *silences,
		size_t n_silences)
{
	fprintf(out, "{\"version\": 1,\n \"%s\": %s", table->name, table->is_record ? "" : "[");
	for (size_t row = 0; row < table->n_rows; row++) {
		fputs(row ? ",\n  " : table->is_record ? "" : "\n  ", out);
		put_row(out, table, row);
	}
	fprintf(out, "%s,\n \"silent\": [", table->is_record ? "" : "]");
	for (size_t i = 0; i < n_silences; i++) {
		fputs(i ? ",\n  {\"agent\": " : "\n  {\"agent\": ", out);
		put_text(out, silences[i].agent);
		fputs(", \"error\": ", out);
		put_text(out, silences[i].error);
		fputc('}', out);
	}
	fputs("]}\n", out);
}
