/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_COMMON_AGENTS_FILE_H
#define ZCSI_COMMON_AGENTS_FILE_H

/*
 * --agents-file: one endpoint per line. Empty lines are skipped, and a '#' begins a comment. The
 * file may be rewritten in place, replaced by rename(2), or be a symbolic link that is switched.
 */

#include <stdbool.h>

#include "common/error.h"
#include "common/options.h"

struct agents_file;

/*
 * Parse the text of an --agents-file in place. Returns its endpoints, which are pointers into text;
 * the caller frees the array.
 */
struct option_list agents_file_parse(char *text);

/*
 * Begin to watch the file, which need not exist yet. path must outlive *ret. Returns 0 with *ret
 * set, or -1 with *err.
 */
int agents_file_watch(struct agents_file **ret, const char *path, struct error *err);
void agents_file_free(struct agents_file *file);
/* Returns a descriptor that is readable when the file may have changed. */
int agents_file_fd(const struct agents_file *file);
/*
 * Returns true if the file changed since it was last read and is complete. Clears the events that
 * made the descriptor readable.
 */
bool agents_file_changed(struct agents_file *file);
/* Returns the file's text, which the caller frees, or NULL with *err. */
char *agents_file_read(struct agents_file *file, struct error *err);
/* Like agents_file_read, of a file that is not watched. It may be half-written. */
char *agents_file_load(const char *path, struct error *err);

#endif
