/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Strings of JSON.
 *
 * Invariant: what is printed is a valid string, whatever bytes the text has.
 */
#include "controller/cli/print/json.h"

#include <string.h>

#include "common/utf8.h"

void json_text(FILE *out, const char *text)
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
