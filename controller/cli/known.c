/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The records of hosts and names that agents keep for controllers, joined.
 *
 * Invariant: of two records of a host the later one counts, as for a controller.
 */
#include "controller/cli/known.h"

#include <string.h>

#include "common/volume/name.h"

const struct reply *known_ask(struct cli *cli)
{
	return fleet_ask(cli->fleet, &cli->arena, "ListKnownHosts",
			 &new_list_known_hosts_request(&cli->arena)->base);
}

const KnownHost *const *known_in(struct cli *cli, const struct reply *replies, size_t *ret_n)
{
	size_t most = 0, n = 0;

	for (size_t i = 0; i < cli->n_members; i++) {
		const ListKnownHostsResponse *list = replies[i].response;
		most += list ? list->n_hosts : 0;
	}
	const KnownHost **hosts = arena_alloc(&cli->arena, (most + 1) * sizeof(*hosts));
	for (size_t i = 0; i < cli->n_members; i++) {
		const ListKnownHostsResponse *list = replies[i].response;
		for (size_t k = 0; list && k < list->n_hosts; k++) {
			size_t at = 0;
			while (at < n && strcmp(hosts[at]->node_id, list->hosts[k]->node_id) != 0)
				at++;
			if (at == n)
				hosts[n++] = list->hosts[k];
			else if (hosts[at]->stamp < list->hosts[k]->stamp)
				hosts[at] = list->hosts[k];
		}
	}
	*ret_n = n;
	return hosts;
}

const KnownHost *const *known_hosts(struct cli *cli, size_t *ret_n)
{
	return known_in(cli, known_ask(cli), ret_n);
}

const GetKeptNamesResponse *known_names(struct cli *cli, const char *node_id)
{
	GetKeptNamesRequest *request = new_get_kept_names_request(&cli->arena);
	const GetKeptNamesResponse *latest = NULL;

	request->node_id = arena_strdup(&cli->arena, node_id);
	const struct reply *replies =
		fleet_ask(cli->fleet, &cli->arena, "GetKeptNames", &request->base);
	for (size_t i = 0; i < cli->n_members; i++) {
		const GetKeptNamesResponse *kept = replies[i].response;
		if (kept && (!latest || kept->read >= latest->read))
			latest = kept;
	}
	return latest;
}

bool known_volume(const GetKeptNamesResponse *names, const char *id)
{
	uint64_t hash = name_hash(NAME_VOLUME, id);

	for (size_t i = 0; i < names->n_hashes; i++)
		if (names->hashes[i] == hash)
			return true;
	return false;
}

bool known_listed(const struct cli *cli, const KnownHost *host)
{
	for (size_t i = 0; i < cli->n_members; i++)
		if (strcmp(cli->members[i].endpoint, host->endpoint) == 0)
			return true;
	return fleet_has(cli->members, cli->n_members, host);
}
