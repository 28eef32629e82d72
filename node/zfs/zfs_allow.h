/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_ALLOWED_H
#define ZCSI_ALLOWED_H

/* What `zfs allow DATASET` prints, as the answer to a question. Runs no program. */

#include <stdbool.h>
#include <stddef.h>

struct grantee {
	const char *user;
	const char *const *groups; /* that the user is in */
	size_t n_groups;
};

/* May it, on the dataset and on all that is below it? */
bool allowed(const char *text, const struct grantee *who, const char *permission);

#endif
