/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Many simulated agents in one process, for make bench-hosts. Each has an endpoint of its own, and
 * volumes in memory instead of a pool. The controller that calls them is the real one.
 *
 *	agents FOLDER FIRST COUNT VOLUMES
 *
 * serves COUNT sockets, FOLDER/agent-FIRST.sock and so on, each with VOLUMES volumes at the start.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/volume/format.h"
#include "common/volume/host_list.h"
#include "common/volume/name.h"
#include "proto/agent.h"
#include "transport/daemon.h"

#define GIB     ((int64_t)1 << 30)
#define ID_SIZE 64

struct volume {
	char id[ID_SIZE];
	int64_t size;
	char *parameters, *node; /* node: where the volume is published, or NULL */
};

struct host {
	unsigned number;
	struct volume *volumes; /* the volumes of this host, ordered by id */
	size_t n;
	uint64_t promised; /* highest claim of all ids; a real agent keeps a claim for each id */
};

/* The hosts received by KeepHosts. All agents of this process share the list, to save memory. */
static struct host_list known;

static char *node_id(struct arena *arena, const struct host *host)
{
	return arena_printf(arena, "node-%04u", host->number);
}

static int get_host(struct rpc_call *call, const GetHostRequest *req, GetHostResponse *rsp,
		    struct error *err)
{
	const struct host *host = call->app;

	(void)err;
	rsp->node_id = node_id(&call->arena, host);
	rsp->n_topology = 1;
	rsp->topology = arena_alloc(&call->arena, sizeof(*rsp->topology));
	rsp->topology[0] = new_segment(&call->arena);
	rsp->topology[0]->key = arena_strdup(&call->arena, "zcsi.zfs/node");
	rsp->topology[0]->value = rsp->node_id;
	rsp->dataset = arena_strdup(&call->arena, "tank/zcsi");
	rsp->pool_guid = host->number + 1;
	rsp->available = (int64_t)(1000 - host->n) * GIB;
	rsp->version = arena_strdup(&call->arena, ZCSI_VERSION);
	rsp->time = wall_us();
	rsp->names = host->n + 1;
	rsp->barrier = req->barrier;
	rsp->known_hosts = known.digest;
	return 0;
}

static int ascending(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

static int list_names(struct rpc_call *call, const ListNamesRequest *req, ListNamesResponse *rsp,
		      struct error *err)
{
	const struct host *host = call->app;

	(void)req, (void)err;
	rsp->names = host->n + 1;
	rsp->hashes = arena_alloc(&call->arena, (host->n + 1) * sizeof(*rsp->hashes));
	for (size_t i = 0; i < host->n; i++)
		rsp->hashes[rsp->n_hashes++] = name_hash(NAME_VOLUME, host->volumes[i].id);
	qsort(rsp->hashes, rsp->n_hashes, sizeof(*rsp->hashes), ascending);
	return 0;
}

static int keep_hosts(struct rpc_call *call, const KeepHostsRequest *req, KeepHostsResponse *rsp,
		      struct error *err)
{
	(void)call, (void)err;
	for (size_t i = 0; i < req->n_hosts; i++) {
		const KnownHost *host = req->hosts[i];
		const struct host_row row = {.node_id = host->node_id,
					     .endpoint = host->endpoint,
					     .dataset = host->dataset,
					     .pool_guid = host->pool_guid,
					     .stamp = host->stamp};
		host_list_merge(&known, &row);
	}
	rsp->known_hosts = known.digest;
	return 0;
}

static int keep_names(struct rpc_call *call, const KeepNamesRequest *req, KeepNamesResponse *rsp,
		      struct error *err)
{
	(void)call, (void)req, (void)rsp, (void)err;
	return 0;
}

static Dataset *describe(struct arena *arena, const struct volume *volume)
{
	Dataset *dataset = new_dataset(arena);

	dataset->id = arena_strdup(arena, volume->id);
	dataset->name = arena_printf(arena, "tank/zcsi/%s", volume->id);
	dataset->size = volume->size;
	dataset->format = arena_strdup(arena, FORMAT_ZFS);
	dataset->parameters = arena_strdup(arena, volume->parameters ? volume->parameters : "");
	if (!volume->node)
		return dataset;
	dataset->n_published = 1;
	dataset->published = arena_alloc(arena, sizeof(*dataset->published));
	dataset->published[0] = new_publication(arena);
	dataset->published[0]->node_id = arena_strdup(arena, volume->node);
	return dataset;
}

/* Returns the index of the first volume whose id is not less than the given one. */
static size_t place_of(const struct host *host, const char *id)
{
	size_t low = 0, high = host->n;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (strcmp(host->volumes[middle].id, id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct volume *find(const struct host *host, const char *id)
{
	size_t at = place_of(host, id);

	return at < host->n && strcmp(host->volumes[at].id, id) == 0 ? &host->volumes[at] : NULL;
}

static struct volume *add(struct host *host, const char *id, int64_t size)
{
	size_t at = place_of(host, id);

	host->volumes = mem_resize(host->volumes, (host->n + 1) * sizeof(*host->volumes));
	struct volume *volume = &host->volumes[at];
	memmove(volume + 1, volume, (host->n++ - at) * sizeof(*volume));
	*volume = (struct volume){.size = size};
	snprintf(volume->id, sizeof(volume->id), "%s", id);
	return volume;
}

static int fail_unknown(const char *id, struct error *err)
{
	return fail(err, ERR_NOT_FOUND, "volume '%s' does not exist here", id);
}

static int get_dataset(struct rpc_call *call, const GetDatasetRequest *req, GetDatasetResponse *rsp,
		       struct error *err)
{
	struct host *host = call->app;
	const struct volume *volume = find(host, req->id);

	if (volume) {
		rsp->dataset = describe(&call->arena, volume);
		return 0;
	}
	if (req->claim && req->claim <= host->promised) {
		rsp->promised = host->promised;
		return 0;
	}
	if (!req->claim)
		return fail_unknown(req->id, err);
	host->promised = req->claim;
	if (!req->target)
		return fail_unknown(req->id, err);
	rsp->promise = new_promise(&call->arena);
	return 0;
}

static int create_dataset(struct rpc_call *call, const CreateDatasetRequest *req,
			  CreateDatasetResponse *rsp, struct error *err)
{
	struct host *host = call->app;

	if (req->claim != host->promised)
		return fail(err, ERR_ABORTED, "another call has looked since");
	struct volume *volume = add(host, req->id, req->size);
	volume->parameters = mem_strdup(req->parameters);
	rsp->dataset = describe(&call->arena, volume);
	return 0;
}

static int publish_dataset(struct rpc_call *call, const PublishDatasetRequest *req,
			   PublishDatasetResponse *rsp, struct error *err)
{
	struct volume *volume = find(call->app, req->id);

	if (!volume)
		return fail_unknown(req->id, err);
	free(volume->node);
	volume->node = mem_strdup(req->publication->node_id);
	rsp->dataset = describe(&call->arena, volume);
	return 0;
}

static int list_datasets(struct rpc_call *call, const ListDatasetsRequest *req,
			 ListDatasetsResponse *rsp, struct error *err)
{
	const struct host *host = call->app;
	size_t at = place_of(host, req->after);

	(void)err;
	if (at < host->n && strcmp(host->volumes[at].id, req->after) == 0)
		at++;
	rsp->datasets = arena_alloc(&call->arena, (host->n + 1) * sizeof(*rsp->datasets));
	for (; at < host->n && rsp->n_datasets < (size_t)req->max; at++)
		rsp->datasets[rsp->n_datasets++] = describe(&call->arena, &host->volumes[at]);
	rsp->more = at < host->n;
	return 0;
}

#define AGENT_METHODS(INLINE, PLAIN, KEYED, STREAM)                                                \
	INLINE(GetHost, get_host)                                                                  \
	INLINE(ListNames, list_names)                                                              \
	INLINE(KeepHosts, keep_hosts)                                                              \
	INLINE(KeepNames, keep_names)                                                              \
	INLINE(GetDataset, get_dataset)                                                            \
	INLINE(CreateDataset, create_dataset)                                                      \
	INLINE(PublishDataset, publish_dataset)                                                    \
	INLINE(ListDatasets, list_datasets)

RPC_SERVICE(agent, zcsi__v1__agent__descriptor, AGENT_METHODS);

static const struct rpc_service *const services[] = {&agent, NULL};

static int listen_all(struct server *server, const char *folder, struct host *hosts, unsigned n,
		      struct error *err)
{
	char endpoint[128];

	for (unsigned i = 0; i < n; i++) {
		const struct server_offer offer = {.services = services, .app = &hosts[i]};
		snprintf(endpoint, sizeof(endpoint), "unix://%s/agent-%u.sock", folder,
			 hosts[i].number);
		if (server_listen(server, endpoint, &offer, err) < 0)
			return -1;
	}
	return 0;
}

static struct host *make_hosts(unsigned first, unsigned count, unsigned n_volumes)
{
	struct host *hosts = mem_alloc(count * sizeof(*hosts));
	char id[ID_SIZE];

	for (unsigned i = 0; i < count; i++) {
		hosts[i].number = first + i;
		for (unsigned k = 0; k < n_volumes; k++) {
			snprintf(id, sizeof(id), "v%u-%u", k, first + i);
			add(&hosts[i], id, GIB);
		}
	}
	return hosts;
}

static int fail_start(const struct error *err)
{
	fprintf(stderr, "agents: %s\n", err->text);
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct daemon daemon;
	struct error err;

	if (argc != 5) {
		fprintf(stderr, "usage: agents FOLDER FIRST COUNT VOLUMES\n");
		return EXIT_FAILURE;
	}
	unsigned count = (unsigned)atoi(argv[3]);
	struct host *hosts = make_hosts((unsigned)atoi(argv[2]), count, (unsigned)atoi(argv[4]));
	/* This process serves the connections of many agents, so the limit is multiplied. */
	struct limits limits = limits_default;
	limits.connections *= count;
	if (log_setup("error", "logfmt", &err) < 0 || daemon_init(&daemon, 1, &err) < 0)
		return fail_start(&err);
	server_free(daemon.server);
	daemon.server = server_new(daemon.loop, daemon.workers, &limits);
	if (listen_all(daemon.server, argv[1], hosts, count, &err) < 0)
		return fail_start(&err);
	puts("ready");
	fflush(stdout);
	daemon_run(&daemon);
	daemon_fini(&daemon, NULL, NULL);
	return EXIT_SUCCESS;
}
