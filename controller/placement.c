/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Choosing the host of a new volume among the hosts that the parameters and the requisite
 * topologies allow, and that can export the volume if it is to be exported: first those whose
 * limits leave room for it, then by the order of the preferred topologies, then by the largest
 * available space, then by a hash of the volume's name and the host. If the limits of no host leave
 * room, the agent of the chosen host refuses the volume.
 *
 * Invariant: the choice depends only on the arguments, so all controllers choose the same host; the
 * hash fills equal pools evenly.
 */
#include "controller/placement.h"

#include <string.h>
#include <strings.h>

#include "common/hash.h"
#include "common/volume/map.h"

struct candidate {
	const struct host *host;
	bool fits;         /* the volume is within the limits of the host */
	size_t preference; /* index of the first preferred topology that contains the host */
	uint64_t weight;
};

bool placement_usable(const GetHostResponse *host)
{
	return *host->dataset && !*host->problem;
}

int64_t placement_room(const GetHostResponse *host, const char *name)
{
	int64_t room = INT64_MAX;

	for (size_t i = 0; i < host->n_size_limits; i++) {
		const SizeLimit *limit = host->size_limits[i];
		int64_t left = limit->limit > limit->promised ? limit->limit - limit->promised : 0;
		if (strncmp(name ? name : "", limit->prefix, strlen(limit->prefix)) == 0 &&
		    left < room)
			room = left;
	}
	return room;
}

const char *placement_refusal(const GetHostResponse *host, const struct where *where)
{
	const struct {
		bool wanted;
		const char *refusal;
	} rows[] = {{where->exported, host->no_export},
		    {where->zvol, host->no_zvols},
		    {where->encrypted, host->no_encryption}};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (rows[i].wanted && *rows[i].refusal)
			return rows[i].refusal;
	return NULL;
}

/*
 * Returns true if the host has this segment. Keys are compared without case, values with it
 * (csi.proto, Topology).
 */
static bool has_segment(const GetHostResponse *host, const struct map_pair *wanted)
{
	for (size_t i = 0; i < host->n_topology; i++)
		if (strcasecmp(host->topology[i]->key, wanted->key) == 0)
			return strcmp(host->topology[i]->value, wanted->value) == 0;
	return false;
}

bool placement_reaches(struct arena *arena, const GetHostResponse *host, const Topology *topology)
{
	if (!topology)
		return true;
	struct map segments = map_of(arena, topology, segments);
	for (size_t i = 0; i < segments.n; i++)
		if (!has_segment(host, &segments.pairs[i]))
			return false;
	return true;
}

bool placement_is_member(const char *members, const char *node_id)
{
	size_t length = strlen(node_id);

	for (const char *at = members; *at; at += *at == ',') {
		size_t name = strcspn(at, ",");
		if (name == length && memcmp(at, node_id, name) == 0)
			return true;
		at += name;
	}
	return false;
}

bool placement_pinned(const GetHostResponse *host, const struct where *where)
{
	size_t pool = strcspn(host->dataset, "/");

	if (where->members && !placement_is_member(where->members, host->node_id))
		return false;

	if (where->node && strcmp(where->node, host->node_id) != 0)
		return false;
	if (where->local && host->by_nfs)
		return false;
	return !where->pool ||
	       (strlen(where->pool) == pool && memcmp(where->pool, host->dataset, pool) == 0);
}

bool placement_allowed(struct arena *arena, const GetHostResponse *host, const struct where *where)
{
	const TopologyRequirement *requirement = where->topology;

	if (!placement_pinned(host, where))
		return false;
	if (!requirement || requirement->n_requisite == 0)
		return true;
	for (size_t i = 0; i < requirement->n_requisite; i++)
		if (placement_reaches(arena, host, requirement->requisite[i]))
			return true;
	return false;
}

static size_t preference(struct arena *arena, const GetHostResponse *host,
			 const TopologyRequirement *requirement)
{
	size_t at = 0;

	if (!requirement)
		return 0;
	while (at < requirement->n_preferred &&
	       !placement_reaches(arena, host, requirement->preferred[at]))
		at++;
	return at;
}

/* Returns the weight of a host for the name, for rendezvous hashing (FNV-1a with mixed bits). */
static uint64_t weight(const char *name, const char *node_id)
{
	uint64_t hash = hash_text(HASH_START, name);

	hash = hash_byte(hash, 0xff); /* a separator, not in UTF-8: "ab","c" and "a","bc" differ */
	hash = hash_text(hash, node_id);
	hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
	return hash ^ (hash >> 33);
}

static bool better(const struct candidate *a, const struct candidate *b)
{
	if (a->fits != b->fits)
		return a->fits;
	if (a->preference != b->preference)
		return a->preference < b->preference;
	if (a->host->says->available != b->host->says->available)
		return a->host->says->available > b->host->says->available;
	return a->weight > b->weight;
}

static void print_requisite(FILE *out, struct arena *arena, const TopologyRequirement *requirement)
{
	for (size_t i = 0; i < requirement->n_requisite; i++) {
		struct map segments = map_of(arena, requirement->requisite[i], segments);
		fputs(i ? " or " : "", out);
		for (size_t k = 0; k < segments.n; k++)
			fprintf(out, "%s%s=%s", k ? "," : "", segments.pairs[k].key,
				segments.pairs[k].value);
	}
}

char *placement_asked(struct arena *arena, const struct where *where)
{
	auto_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (where->node)
		fprintf(out, " on node '%s'", where->node);
	if (where->members)
		fprintf(out, " on one of the members '%s'", where->members);
	if (where->pool)
		fprintf(out, " in pool '%s'", where->pool);
	if (where->topology && where->topology->n_requisite) {
		fputs(" in accessibility_requirements (", out);
		print_requisite(out, arena, where->topology);
		fputc(')', out);
	}
	fclose(out);
	return arena_strdup(arena, text);
}

static void print_pools(FILE *out, const struct hosts *hosts)
{
	const char *between = "";

	for (size_t i = 0; i < hosts->n; i++) {
		const GetHostResponse *host = hosts->list[i].says;
		if (!*host->dataset)
			continue;
		fprintf(out, "%s'%s' on ", between, host->dataset);
		for (size_t k = 0; k < host->n_topology; k++)
			fprintf(out, "%s%s=%s", k ? "," : "", host->topology[k]->key,
				host->topology[k]->value);
		fputs(host->by_nfs ? ", with attach=nfs" : "", out);
		between = ", ";
	}
	if (!*between)
		fputs("none; a host gets one by zcsi-node --dataset POOL/PARENT", out);
}

static int fail_nowhere(struct arena *arena, const struct hosts *hosts, const char *name,
			const struct where *where, struct error *err)
{
	auto_free char *pools = NULL;
	size_t size;
	FILE *out = open_memstream(&pools, &size);

	print_pools(out, hosts);
	fclose(out);
	return fail(err, ERR_RESOURCE_EXHAUSTED,
		    "there is no pool for volume '%s'%s; the pools are: %s", name,
		    placement_asked(arena, where), pools);
}

static int fail_refused(struct arena *arena, const struct hosts *hosts, const char *name,
			const struct where *where, struct error *err)
{
	const char *reasons = "";

	for (size_t i = 0; i < hosts->n; i++) {
		const GetHostResponse *host = hosts->list[i].says;
		if (*host->dataset && placement_allowed(arena, host, where))
			reasons = arena_printf(arena, "%s; node '%s': %s", reasons, host->node_id,
					       placement_refusal(host, where));
	}
	return fail(err, ERR_RESOURCE_EXHAUSTED, "there is no pool that can have volume '%s'%s%s%s",
		    name, where->exported ? " for attach=nfs" : "", placement_asked(arena, where),
		    reasons);
}

int placement_choose(struct arena *arena, const struct hosts *hosts, const char *name,
		     const struct where *where, const struct host **ret, struct error *err)
{
	struct candidate best = {0};
	const GetHostResponse *troubled = NULL;
	bool refused = false;

	for (size_t i = 0; i < hosts->n; i++) {
		const GetHostResponse *host = hosts->list[i].says;
		if (!*host->dataset || !placement_allowed(arena, host, where))
			continue;
		if (placement_refusal(host, where)) {
			refused = true;
			continue;
		}
		if (*host->problem) {
			troubled = host;
			continue;
		}
		struct candidate candidate = {
			.host = &hosts->list[i],
			.fits = where->size <= placement_room(host, name),
			.preference = preference(arena, host, where->topology),
			.weight = weight(name, host->node_id),
		};
		if (!best.host || better(&candidate, &best))
			best = candidate;
	}
	*ret = best.host;
	if (best.host)
		return 0;
	if (troubled)
		return fail(err, ERR_UNAVAILABLE,
			    "the pool for volume '%s', on node '%s', cannot be used: %s", name,
			    troubled->node_id, troubled->problem);
	return refused ? fail_refused(arena, hosts, name, where, err)
		       : fail_nowhere(arena, hosts, name, where, err);
}
