/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The metrics of the limits of --overcommit and --limit.
 *
 * Invariant: only limits that are set have metrics.
 */
#include "common/metrics.h"
#include "node/host/size_limits.h"

static const struct metric pool[] = {
	METRIC(GAUGE, "zcsi_pool_promised_bytes", "The sizes of all volumes together.", "dataset"),
	METRIC(GAUGE, "zcsi_pool_promised_limit_bytes", "How much they may be, by --overcommit.",
	       "dataset"),
};
static const struct metric prefix[] = {
	METRIC(GAUGE, "zcsi_prefix_promised_bytes",
	       "The sizes of the volumes whose names begin with the prefix.", "prefix"),
	METRIC(GAUGE, "zcsi_prefix_promised_limit_bytes", "How much they may be, by --limit.",
	       "prefix"),
};

/*
 * Write one metric of all limits by --overcommit, or by --limit if by_ratio is false. value: offset
 * in struct size_limit_state.
 */
static void write(const struct node *node, FILE *out, const struct metric *metric, bool by_ratio,
		  size_t value, const struct size_limit_state *states, size_t n)
{
	bool head = false;

	for (size_t i = 0; i < n; i++) {
		const struct size_limit *limit = states[i].limit;
		const int64_t *bytes = (const void *)((const char *)&states[i] + value);
		if (by_ratio != !!limit->thousandths)
			continue;
		if (!head)
			metric_head(metric, out);
		head = true;
		metric_sample(metric, out, (double)*bytes,
			      by_ratio ? catalog_parent(node->catalog) : limit->prefix);
	}
}

void size_limits_metrics_write(const struct node *node, FILE *out)
{
	static const size_t values[] = {offsetof(struct size_limit_state, promised),
					offsetof(struct size_limit_state, bytes)};
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct size_limit_state *states = NULL;
	size_t n = size_limits_read(node->size_limits, node->catalog, &arena, &states);

	for (size_t i = 0; i < COUNT(values); i++) {
		write(node, out, &pool[i], true, values[i], states, n);
		write(node, out, &prefix[i], false, values[i], states, n);
	}
}
