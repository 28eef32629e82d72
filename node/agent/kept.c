/* SPDX-License-Identifier: MPL-2.0 */
/*
 * KeepHosts, ListKnownHosts, KeepNames and GetKeptNames of zcsi.v1.Agent.
 *
 * Invariant: KeepHosts writes the file `hosts` before it answers with the digest of the new list,
 * and removes the names of hosts that are newly marked as forgotten.
 */
#include "node/agent/kept.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/log.h"
#include "common/volume/escape.h"
#include "node/host/node.h"
#include "node/service.h"

#define HOSTS_FILE   "hosts"
#define NAMES_PREFIX "names-"

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

static char *names_file(struct arena *arena, const char *node_id)
{
	char leaf[ESCAPE_LEAF_MAX + 1];

	escape_leaf(node_id, leaf);
	return arena_printf(arena, NAMES_PREFIX "%s", leaf);
}

static int make(const char *path, struct error *err)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return fail_errno(err, "cannot create the directory '%s'", path);
	return 0;
}

void kept_open(struct kept *kept, const char *dir, const char *node_id)
{
	char leaf[ESCAPE_LEAF_MAX + 1];
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct error err;

	if (!*dir)
		return;
	escape_leaf(node_id, leaf);
	if (asprintf(&kept->folder, "%s/%s", dir, leaf) < 0)
		abort();
	if (make(dir, &err) < 0 || make(kept->folder, &err) < 0) {
		log_warn("cannot keep the names of other hosts", log_str("error", err.text));
		kept->failed = true;
		return;
	}
	const ListKnownHostsResponse *hosts = (ListKnownHostsResponse *)kept_file_read(
		kept, HOSTS_FILE, &arena, &zcsi__v1__list_known_hosts_response__descriptor);
	for (size_t i = 0; hosts && i < hosts->n_hosts; i++) {
		const struct host_row row = row_of(hosts->hosts[i]);
		host_list_merge(&kept->hosts, &row);
	}
}

void kept_close(struct kept *kept)
{
	host_list_fini(&kept->hosts);
	free(kept->folder);
}

uint64_t kept_digest(struct kept *kept)
{
	scoped_lock(&kept->lock);

	return kept->hosts.digest;
}

static void list_hosts(struct kept *kept, struct arena *arena, ListKnownHostsResponse *ret)
{
	scoped_lock(&kept->lock);

	ret->hosts = arena_alloc(arena, (kept->hosts.n + 1) * sizeof(*ret->hosts));
	for (size_t i = 0; i < kept->hosts.n; i++)
		ret->hosts[ret->n_hosts++] = message_of(arena, &kept->hosts.rows[i]);
}

/* Add the request's hosts to the list. Returns its digest; *ret_changed: the digest is new. */
static uint64_t merge(struct kept *kept, const KeepHostsRequest *req, bool *ret_changed)
{
	scoped_lock(&kept->lock);
	uint64_t before = kept->hosts.digest;

	for (size_t i = 0; i < req->n_hosts; i++) {
		const struct host_row row = row_of(req->hosts[i]);
		host_list_merge(&kept->hosts, &row);
	}
	*ret_changed = kept->hosts.digest != before;
	return kept->hosts.digest;
}

int keep_hosts(struct rpc_call *call, const KeepHostsRequest *req, KeepHostsResponse *rsp,
	       struct error *err)
{
	struct kept *kept = ((struct node *)call->app)->kept;
	ListKnownHostsResponse *all = new_list_known_hosts_response(&call->arena);
	bool changed;

	(void)err;
	scoped_lock(&kept->writing);
	rsp->known_hosts = merge(kept, req, &changed);
	if (!changed)
		return 0;
	list_hosts(kept, &call->arena, all);
	kept_file_write(kept, HOSTS_FILE, &all->base);
	for (size_t i = 0; i < req->n_hosts; i++)
		if (req->hosts[i]->forgotten)
			kept_file_remove(kept, names_file(&call->arena, req->hosts[i]->node_id));
	return 0;
}

int list_known_hosts(struct rpc_call *call, const ListKnownHostsRequest *req,
		     ListKnownHostsResponse *rsp, struct error *err)
{
	struct node *node = call->app;

	(void)req, (void)err;
	list_hosts(node->kept, &call->arena, rsp);
	return 0;
}

int keep_names(struct rpc_call *call, const KeepNamesRequest *req, KeepNamesResponse *rsp,
	       struct error *err)
{
	struct kept *kept = ((struct node *)call->app)->kept;

	(void)rsp;
	if (request_text(req->node_id, "node_id", err) < 0)
		return -1;
	scoped_lock(&kept->writing);
	kept_file_write(kept, names_file(&call->arena, req->node_id), &req->base);
	kept_file_limit(kept, NAMES_PREFIX, KEPT_FILES_MAX);
	return 0;
}

int get_kept_names(struct rpc_call *call, const GetKeptNamesRequest *req, GetKeptNamesResponse *rsp,
		   struct error *err)
{
	const struct kept *kept = ((struct node *)call->app)->kept;

	if (request_text(req->node_id, "node_id", err) < 0)
		return -1;
	KeepNamesRequest *names =
		(KeepNamesRequest *)kept_file_read(kept, names_file(&call->arena, req->node_id),
						   &call->arena,
						   &zcsi__v1__keep_names_request__descriptor);
	if (!names || strcmp(names->node_id, req->node_id) != 0)
		return fail(err, ERR_NOT_FOUND, "no names of node '%s' are kept here",
			    req->node_id);
	rsp->read = names->read;
	rsp->barrier = names->barrier;
	rsp->hashes = names->hashes;
	rsp->n_hashes = names->n_hashes;
	return 0;
}
