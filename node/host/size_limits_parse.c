/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The values of --overcommit and --limit.
 *
 * Invariant: each limit is more than 0 and less than INT64_MAX, and no prefix is given twice.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "node/host/size_limits.h"

#define OVERCOMMIT_MAX 1000

/* Parse "2" or "1.5" into thousandths. Returns false for anything else, and above the maximum. */
static bool parse_ratio(const char *text, int64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	long whole = strtol(text, &end, 10);
	if (whole > OVERCOMMIT_MAX)
		return false;
	*ret = whole * 1000;
	if (*end == '.' && isdigit((unsigned char)*++end))
		for (int unit = 100; unit && isdigit((unsigned char)*end); unit /= 10)
			*ret += (*end++ - '0') * unit;
	return !*end && end[-1] != '.' && *ret <= OVERCOMMIT_MAX * 1000;
}

/* Parse a number of bytes, or of KiB, MiB, GiB, TiB or PiB with the letter K, M, G, T or P. */
static bool parse_bytes(const char *text, int64_t *ret)
{
	static const char units[] = "KMGTP";
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	*ret = strtoll(text, &end, 10);
	const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (*end && (!unit || end[1]))
		return false;
	int64_t factor = unit ? (int64_t)1 << (10 * (unit - units + 1)) : 1;
	return *ret > 0 && !__builtin_mul_overflow(*ret, factor, ret) && *ret < INT64_MAX;
}

static int add_overcommit(const char *text, struct size_limit *ret, size_t *ret_n,
			  struct error *err)
{
	int64_t thousandths;

	if (!parse_ratio(text, &thousandths))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "--overcommit '%.64s' is not a number from 0 to %d with at most three "
			    "decimals, like 1.5",
			    text, OVERCOMMIT_MAX);
	if (thousandths)
		ret[(*ret_n)++] =
			(struct size_limit){.prefix = mem_strdup(""), .thousandths = thousandths};
	return 0;
}

static int add_limit(const char *text, struct size_limit *ret, size_t *ret_n, struct error *err)
{
	const char *equals = strrchr(text, '=');
	int64_t bytes;

	if (!equals || equals == text || !parse_bytes(equals + 1, &bytes))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "--limit '%.300s' is not PREFIX=BYTES, with a number of bytes that may "
			    "end in K, M, G, T or P, like prod-=500G",
			    text);
	char *prefix = mem_strdup(text);
	prefix[equals - text] = '\0';
	for (size_t i = 0; i < *ret_n; i++)
		if (strcmp(ret[i].prefix, prefix) == 0) {
			free(prefix);
			return fail(err, ERR_INVALID_ARGUMENT,
				    "--limit '%.300s' is the second one for its prefix; give one",
				    text);
		}
	ret[(*ret_n)++] = (struct size_limit){.prefix = prefix, .bytes = bytes};
	return 0;
}

int size_limits_parse(const char *overcommit, const struct option_list *list,
		      struct size_limit **ret, size_t *ret_n, struct error *err)
{
	*ret = mem_alloc((list->n + 1) * sizeof(**ret));
	*ret_n = 0;
	if (add_overcommit(overcommit, *ret, ret_n, err) < 0)
		return -1;
	for (size_t i = 0; i < list->n; i++)
		if (add_limit(list->values[i], *ret, ret_n, err) < 0)
			return -1;
	return 0;
}

void size_limits_free(struct size_limit *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free((char *)rows[i].prefix);
	free(rows);
}
