/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The metrics of owners.
 *
 * Invariant: each volume with copies that is not deleted is counted once.
 */
#include "node/owner/owner_metrics.h"

#include "common/metrics.h"
#include "node/catalog/change.h"
#include "node/host/asides.h"
#include "node/host/owner.h"
#include "node/record/ownership.h"

static const struct metric volumes =
	METRIC(GAUGE, "zcsi_volumes_with_copies",
	       "Volumes with copies: those that are this host's, those that wait for nodes with "
	       "copies to confirm it, and those that another node took over.",
	       "owner");

static const struct metric diverged = METRIC(
	GAUGE, "zcsi_volumes_diverged",
	"Volumes that were put aside when their node returned after a failover, because they "
	"have data that no other node has. They stay until 'zcsi diverged drop'.");

void owner_metrics_write(const struct node *node, FILE *out)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const long put_aside = node->asides ? asides_count(node->asides) : -1;
	size_t ours = 0, unknown = 0, others = 0;
	struct dataset_list rows;
	uint64_t *marks;

	catalog_with_members(node->catalog, &arena, &rows, &marks);
	for (size_t i = 0; i < rows.n; i++) {
		struct error ignored;
		if (dataset_is_trash(catalog_parent(node->catalog), rows.rows[i]->name))
			continue;
		if (ownership_parse(&arena, rows.rows[i]->owner).newer_epoch)
			others++;
		else if (owner_check(node, rows.rows[i], &ignored) < 0)
			unknown++;
		else
			ours++;
	}
	metric_head(&volumes, out);
	metric_sample(&volumes, out, (double)ours, "this");
	metric_sample(&volumes, out, (double)unknown, "unknown");
	metric_sample(&volumes, out, (double)others, "another");
	metric_head(&diverged, out);
	if (put_aside >= 0)
		metric_sample(&diverged, out, (double)put_aside);
}
