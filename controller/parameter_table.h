/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_PARAMETER_TABLE_H
#define ZCSI_CONTROLLER_PARAMETER_TABLE_H

/* Which parameters there are, and what values each takes. Pure. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/error.h"
#include "common/volume/format.h"
#include "controller/parameter_value.h"

/*
 * The kinds of volume that take a parameter: ZFS has other properties for a zvol than for a
 * filesystem.
 */
enum parameter_for { ON_ANY, ON_FILESYSTEM, ON_ZVOL };

struct parameter {
	const char *key;      /* one that ends in '.' stands for all that begin so */
	const char *property; /* "": what follows such a key; NULL: it is no property of ZFS */
	bool mutable;         /* may be changed while the volume lives */
	enum parameter_for on;
	struct parameter_rule takes;
	const char *fallback; /* what it is when it is not given; NULL leaves it to ZFS */
};

extern const struct parameter parameter_table[];
extern const size_t parameter_count;

/* NULL: there is none of that name. */
const struct parameter *parameter_find(const char *key);
/* The ZFS property that a key of the row sets; NULL when it sets none. */
const char *parameter_property(const struct parameter *row, const char *key);
/* A volume of this format has what the row sets. */
bool parameter_is_for(const struct parameter *row, const struct format *format);

/*
 * There is such a parameter and it takes this value. ERR_INVALID_ARGUMENT says what was probably
 * meant, or why zcsi keeps it to itself, or which values there are.
 */
int parameter_check(const char *key, const char *value, struct error *err);

/* A line for each parameter and its values, for --help. */
void parameters_help(FILE *out);

#endif
