/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The methods by which the agents in memory keep hosts and names for controllers.
 * scripted_agents.c includes this file.
 */
#include "tests/unit/controller/scripted_methods.h"

static struct host_row row_of(const KnownHost *host)
{
	return (struct host_row){.node_id = host->node_id,
				 .endpoint = host->endpoint,
				 .dataset = host->dataset,
				 .pool_guid = host->pool_guid,
				 .since = host->since,
				 .stamp = host->stamp,
				 .forgotten = host->forgotten};
}

static KnownHost *message_of(struct arena *arena, const struct host_row *row)
{
	KnownHost *host = new_known_host(arena);

	host->node_id = arena_strdup(arena, row->node_id);
	host->endpoint = arena_strdup(arena, row->endpoint);
	host->dataset = arena_strdup(arena, row->dataset);
	host->pool_guid = row->pool_guid;
	host->since = row->since;
	host->stamp = row->stamp;
	host->forgotten = row->forgotten;
	return host;
}

int do_keep_hosts(const struct client_call *begun, KeepHostsResponse **ret, struct error *err)
{
	const KeepHostsRequest *request = begun->request;

	(void)err;
	begun->client->hosts_kept++;
	for (size_t i = 0; i < request->n_hosts; i++) {
		const struct host_row row = row_of(request->hosts[i]);
		host_list_merge(&begun->client->hosts, &row);
	}
	*ret = new_keep_hosts_response(begun->arena);
	(*ret)->known_hosts = begun->client->hosts.digest;
	return 0;
}

int do_list_known_hosts(const struct client_call *begun, ListKnownHostsResponse **ret,
			struct error *err)
{
	(void)err;
	begun->client->hosts_listed++;
	*ret = new_list_known_hosts_response(begun->arena);
	const struct host_list *hosts = &begun->client->hosts;
	(*ret)->hosts = arena_alloc(begun->arena, (hosts->n + 1) * sizeof(*(*ret)->hosts));
	for (size_t i = 0; i < hosts->n; i++)
		(*ret)->hosts[(*ret)->n_hosts++] = message_of(begun->arena, &hosts->rows[i]);
	return 0;
}

static KeepNamesRequest *kept_of(const struct client *client, const char *node_id)
{
	for (size_t i = 0; i < client->n_kept; i++)
		if (strcmp(client->kept[i]->node_id, node_id) == 0)
			return client->kept[i];
	return NULL;
}

int do_keep_names(const struct client_call *begun, KeepNamesResponse **ret, struct error *err)
{
	const KeepNamesRequest *request = begun->request;
	struct client *client = begun->client;
	KeepNamesRequest *kept = kept_of(client, request->node_id);

	(void)err;
	if (!kept) {
		assert_true(client->n_kept < KEPT_MAX);
		kept = client->kept[client->n_kept++] = new_keep_names_request(&call.arena);
		kept->node_id = arena_strdup(&call.arena, request->node_id);
	}
	kept->read = request->read;
	kept->barrier = request->barrier;
	kept->n_hashes = request->n_hashes;
	kept->hashes = arena_alloc(&call.arena, (request->n_hashes + 1) * sizeof(*kept->hashes));
	if (request->n_hashes)
		memcpy(kept->hashes, request->hashes, request->n_hashes * sizeof(*kept->hashes));
	*ret = new_keep_names_response(begun->arena);
	return 0;
}

int do_get_kept_names(const struct client_call *begun, GetKeptNamesResponse **ret,
		      struct error *err)
{
	const GetKeptNamesRequest *request = begun->request;
	const KeepNamesRequest *kept = kept_of(begun->client, request->node_id);

	if (!kept)
		return fail(err, ERR_NOT_FOUND, "not kept");
	*ret = new_get_kept_names_response(begun->arena);
	(*ret)->read = kept->read;
	(*ret)->barrier = kept->barrier;
	(*ret)->hashes = kept->hashes;
	(*ret)->n_hashes = kept->n_hashes;
	return 0;
}
