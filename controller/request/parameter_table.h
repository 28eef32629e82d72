/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_PARAMETER_TABLE_H
#define ZCSI_CONTROLLER_PARAMETER_TABLE_H

/* The table of parameters that a volume may have, and the values that each accepts. Pure. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/error.h"
#include "common/volume/format.h"
#include "controller/request/parameter_value.h"

/*
 * The kinds of volume that a parameter applies to: ZFS has other properties for a zvol than for a
 * filesystem.
 */
enum parameter_for { ON_ANY, ON_FILESYSTEM, ON_ZVOL };

struct parameter {
	const char *key;      /* a key that ends in '.' stands for all keys with this prefix */
	const char *property; /* ZFS property; "": the key without its prefix; NULL: none */
	bool mutable;         /* can be changed on an existing volume */
	enum parameter_for on;
	struct parameter_rule takes;
	const char *fallback; /* default value; NULL: the default of ZFS */
	const char *instead;  /* how to change it, if it is not mutable; NULL: by no means */
};

extern const struct parameter parameter_table[];
extern const size_t parameter_count;

/* Returns the row for this key, or NULL if no parameter has this key. */
const struct parameter *parameter_find(const char *key);
/* Returns the ZFS property that a key of this row sets; NULL if it sets none. */
const char *parameter_property(const struct parameter *row, const char *key);
/* Returns true if the row applies to volumes of this format. */
bool parameter_is_for(const struct parameter *row, const struct format *format);

/*
 * Check that the parameter exists and accepts this value. Returns 0, or -1 with
 * ERR_INVALID_ARGUMENT, which suggests a similar key, or gives the reason of the refusal or the
 * accepted values.
 */
int parameter_check(const char *key, const char *value, struct error *err);

/* Print a line for each parameter with its values, for --help. */
void parameters_help(FILE *out);

#endif
