/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_AGENTS_FILE_H
#define ZCSI_CONTROLLER_AGENTS_FILE_H

/*
 * --agents-file: an endpoint a line; empty lines and what follows a '#' do not count. It may be
 * rewritten in place, replaced by rename, or be a symbolic link that is switched.
 */

#include <stdbool.h>

#include "common/error.h"
#include "common/options.h"

struct agents_file;

/*
 * Parse a text of that form, which is cut up. Returns its endpoints, pointers into text; the array
 * is to be freed.
 */
struct option_list agents_file_parse(char *text);

/* The file need not be there yet. path outlives it. */
int agents_file_watch(struct agents_file **ret, const char *path, struct error *err);
void agents_file_free(struct agents_file *file);
/* Can be read when the file may have changed. */
int agents_file_fd(const struct agents_file *file);
/*
 * Returns true if the file changed since it was read. Clears the event that made the descriptor
 * readable.
 */
bool agents_file_changed(struct agents_file *file);
/* Returns the file's text, to be freed, or NULL with *err filled. */
char *agents_file_read(struct agents_file *file, struct error *err);

#endif
