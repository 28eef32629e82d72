/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A table of silences.
 *
 * Invariant: a node has one row while it is silent, from the first time that it did not answer, and
 * none otherwise.
 */
#include "node/repair/silence.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

struct silence *silences_find(const struct silences *silences, const char *node)
{
	for (size_t i = 0; i < silences->n; i++)
		if (strcmp(silences->rows[i].node, node) == 0)
			return &silences->rows[i];
	return NULL;
}

void silences_end(struct silences *silences, const char *node)
{
	struct silence *silence = silences_find(silences, node);

	if (!silence)
		return;
	free(silence->node);
	*silence = silences->rows[--silences->n];
}

void silences_begin(struct silences *silences, const char *node, int64_t now)
{
	if (silences_find(silences, node))
		return;
	silences->rows = mem_resize(silences->rows, (silences->n + 1) * sizeof(*silences->rows));
	silences->rows[silences->n++] = (struct silence){.node = mem_strdup(node), .since = now};
}

int64_t silences_of(const struct silences *silences, const char *node, int64_t now)
{
	const struct silence *silence = silences_find(silences, node);
	int64_t seconds = silence ? (now - silence->since) / 1000 : 0;

	return silence && seconds < 1 ? 1 : seconds;
}

void silences_clear(struct silences *silences)
{
	for (size_t i = 0; i < silences->n; i++)
		free(silences->rows[i].node);
	free(silences->rows);
	*silences = (struct silences){.n = 0};
}
