/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The properties of a copy.
 *
 * Invariant: a copy has all properties that make a dataset the volume, so one rename makes it the
 * volume. Those of the owner, such as zcsi:owner and zcsi:published, are set just before the
 * rename.
 */
#include "node/replica/properties.h"

#include <inttypes.h>

#include "common/volume/escape.h"
#include "common/volume/format.h"
#include "node/export/exports.h"
#include "node/record/dataset.h"
#include "node/record/push_rules.h"

static void put(struct zfs_properties *to, const char *name, const char *value)
{
	if (*value)
		zfs_property(to, name, value);
}

void replica_properties(struct arena *arena, const char *parent, const ReceiveHeader *header,
			struct zfs_properties *to)
{
	const Dataset *volume = header->volume;
	const char *size = arena_printf(arena, "%" PRId64, volume->size);
	const char *epoch = arena_printf(arena, "%" PRId64, header->epoch);
	struct push_rules rules = push_rules_parse(header->push);
	bool zvol = format_find(volume->format)->zvol;

	zfs_property(to, "zcsi:version", DATASET_VERSION);
	zfs_property(to, "zcsi:volume", escape_text(arena, volume->id));
	zfs_property(to, "zcsi:members", header->members);
	put(to, "zcsi:epoch", header->epoch > 0 ? epoch : "");
	rules.paused = false;
	zfs_property(to, "zcsi:push", push_rules_format(arena, &rules));
	put(to, "zcsi:parameters", escape_text(arena, volume->parameters));
	if (*volume->source_snapshot)
		zfs_property(to, "zcsi:source",
			     escape_text(arena, arena_printf(arena, "snapshot:%s",
							     volume->source_snapshot)));
	else if (*volume->source_dataset)
		zfs_property(to, "zcsi:source",
			     escape_text(arena,
					 arena_printf(arena, "volume:%s", volume->source_dataset)));
	if (zvol)
		zfs_property(to, "zcsi:format", volume->format);
	if (header->formatted)
		zfs_property(to, "zcsi:formatted", "yes");
	for (size_t i = 0; i < header->n_properties; i++)
		zfs_property(to, header->properties[i]->name, header->properties[i]->value);
	if (zvol)
		return;
	zfs_property(to, "canmount", "noauto");
	zfs_property(to, "mountpoint",
		     exports_mountpoint(arena, dataset_name(arena, parent, volume->id)));
	put(to, "refquota", volume->size ? size : "");
	put(to, "refreservation", header->reserved ? size : "");
}
