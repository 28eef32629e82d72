/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The snapshot or volume that a new volume is cloned from.
 *
 * Invariant: the source is recorded in the dataset when the dataset is created, so later
 * comparisons and answers do not depend on whether the source still exists.
 */
#include "controller/source.h"

#include <string.h>

#include "controller/hosts.h"
#include "controller/snapshot.h"
#include "controller/request/field.h"

int source_parse(const VolumeContentSource *message, struct source *ret, struct error *err)
{
	*ret = (struct source){.snapshot = "", .volume = ""};
	if (!message)
		return 0;
	switch (message->type_case) {
	case VOLUME_CONTENT_SOURCE_TYPE_SNAPSHOT:
		ret->snapshot = message->snapshot->snapshot_id;
		return field_check_present("volume_content_source.snapshot.snapshot_id",
					   ret->snapshot, err);
	case VOLUME_CONTENT_SOURCE_TYPE_VOLUME:
		ret->volume = message->volume->volume_id;
		return field_check_present("volume_content_source.volume.volume_id", ret->volume,
					   err);
	default:
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume_content_source has no type: give a snapshot or a volume");
	}
}

bool source_given(const struct source *source)
{
	return *source->snapshot || *source->volume;
}

static int find_snapshot(struct rpc_call *call, const char *id, struct source_found *ret,
			 struct error *err)
{
	struct snapshot_owner owner;

	if (snapshot_get(call, id, &owner, err) < 0)
		return -1;
	*ret = (struct source_found){owner.agent, owner.snapshot->size, owner.snapshot->format};
	return 0;
}

static int find_volume(struct rpc_call *call, const char *id, struct source_found *ret,
		       struct error *err)
{
	struct owner owner;

	if (owner_get(call, id, &owner, err) < 0)
		return -1;
	*ret = (struct source_found){owner.agent, owner.dataset->size, owner.dataset->format};
	return 0;
}

int source_find(struct rpc_call *call, const struct source *source, struct source_found *ret,
		struct error *err)
{
	int result = *source->snapshot ? find_snapshot(call, source->snapshot, ret, err)
				       : find_volume(call, source->volume, ret, err);

	return result < 0 ? fail_context(err, "volume_content_source") : 0;
}

struct source source_of(const Dataset *dataset)
{
	return (struct source){.snapshot = dataset->source_snapshot,
			       .volume = dataset->source_dataset};
}

bool source_equal(const struct source *a, const struct source *b)
{
	return strcmp(a->snapshot, b->snapshot) == 0 && strcmp(a->volume, b->volume) == 0;
}

const char *source_name(struct arena *arena, const struct source *source)
{
	if (*source->snapshot)
		return arena_printf(arena, "snapshot '%s'", source->snapshot);
	return *source->volume ? arena_printf(arena, "volume '%s'", source->volume) : "none";
}

VolumeContentSource *source_message(struct arena *arena, const struct source *source)
{
	VolumeContentSource *message = new_volume_content_source(arena);

	if (!source_given(source))
		return NULL;
	if (*source->snapshot) {
		message->type_case = VOLUME_CONTENT_SOURCE_TYPE_SNAPSHOT;
		message->snapshot = new_volume_content_source_snapshot_source(arena);
		message->snapshot->snapshot_id = arena_strdup(arena, source->snapshot);
	} else {
		message->type_case = VOLUME_CONTENT_SOURCE_TYPE_VOLUME;
		message->volume = new_volume_content_source_volume_source(arena);
		message->volume->volume_id = arena_strdup(arena, source->volume);
	}
	return message;
}
