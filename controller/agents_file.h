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

/* What a text of that form names: words into text, which is cut. The array is for free(). */
struct option_list agents_file_parse(char *text);

/* The file need not be there yet. path outlives it. */
int agents_file_watch(struct agents_file **ret, const char *path, struct error *err);
void agents_file_free(struct agents_file *file);
/* Can be read when the file may have changed. */
int agents_file_fd(const struct agents_file *file);
/* It has, since it was read; forgets what made the descriptor readable. */
bool agents_file_changed(struct agents_file *file);
/* Its text, for free(), or NULL and *err. */
char *agents_file_read(struct agents_file *file, struct error *err);

#endif
