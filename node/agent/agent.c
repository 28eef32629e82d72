/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The reading calls of zcsi.v1.Agent (GetHost, ListNames, GetDataset, ListDatasets), and functions
 * that all handlers share.
 *
 * Invariant: these calls are answered from the catalog and run no program to read the pool, except
 * that GetDataset may read one volume until the first scan has ended (node/catalog/early.h).
 */
#include "node/agent/agent.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/volume/escape.h"
#include "common/volume/name.h"
#include "node/host/asides.h"
#include "node/host/claims.h"
#include "node/agent/kept.h"
#include "node/agent/promise.h"
#include "node/catalog/names.h"
#include "node/copy/pusher.h"
#include "node/export/exports.h"
#include "node/host/moves.h"
#include "node/host/size_limits.h"
#include "node/host/troubles.h"
#include "node/record/members.h"
#include "node/record/ownership.h"
#include "node/record/push_rules.h"
#include "node/record/publication.h"
#include "node/schedule/keeper.h"
#include "node/service.h"
#include "node/stream/copies.h"
#include "node/zfs/key.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

#define TROUBLES_MAX 3     /* a dataset's record of copies, its schedule, and its repair */
#define HASHES_MAX   65536 /* hashes of names in one answer: half a megabyte */

static void describe_limits(struct arena *arena, const struct node *node, GetHostResponse *rsp)
{
	struct size_limit_state *states = NULL;
	size_t n = size_limits_read(node->size_limits, node->catalog, arena, &states);

	rsp->size_limits = arena_alloc(arena, (n + 1) * sizeof(*rsp->size_limits));
	for (size_t i = 0; i < n; i++) {
		SizeLimit *message = new_size_limit(arena);
		message->prefix = (char *)states[i].limit->prefix;
		message->limit = states[i].bytes;
		message->promised = states[i].promised;
		message->option = (char *)states[i].option;
		rsp->size_limits[rsp->n_size_limits++] = message;
	}
}

/*
 * Fill the state of the pool. The promised names are read before pool.names, the version of the set
 * of names, so a creation that ends in between changes the version.
 */
static void describe_pool(struct rpc_call *call, const struct node *node, const GetHostRequest *req,
			  GetHostResponse *rsp)
{
	struct catalog_pool pool;
	uint64_t barrier = 0;
	struct error why;

	catalog_pool(node->catalog, &call->arena, &pool);
	if (pool.names && req->barrier)
		barrier = claims_barrier(node->claims, req->barrier, name_hash_node(node->id),
					 &call->arena, &rsp->promised, &rsp->n_promised);
	catalog_pool(node->catalog, &call->arena, &pool);
	rsp->dataset = arena_strdup(&call->arena, catalog_parent(node->catalog));
	rsp->by_nfs = ssh_server() != NULL;
	rsp->pool_guid = pool.guid;
	rsp->names = pool.names;
	rsp->barrier = pool.names && pool.complete ? barrier : 0;
	rsp->available = pool.available;
	rsp->health = pool.health;
	rsp->device = pool.device;
	rsp->device_state = pool.device_state;
	rsp->problem = arena_strdup(&call->arena, pool.reading ? "" : pool.problem);
	rsp->no_export = exports_refusal(&call->arena);
	if (zfs_check_devices(&why) < 0)
		rsp->no_zvols = arena_strdup(&call->arena, why.text);
	if (key_check_possible(&why) < 0)
		rsp->no_encryption = arena_strdup(&call->arena, why.text);
	if (rsp->by_nfs)
		rsp->no_copies = arena_strdup(&call->arena, "its pool is on a server over ssh; run "
							    "zcsi-node on that server instead");
	else if (!zfs_is_the_kernels())
		rsp->no_copies = arena_strdup(&call->arena, "it has zfs-fuse; use OpenZFS");
	if (pool.names)
		describe_limits(&call->arena, node, rsp);
	if (node->asides)
		rsp->n_diverged = asides_list(node->asides, &call->arena, &rsp->diverged);
}

int get_host(struct rpc_call *call, const GetHostRequest *req, GetHostResponse *rsp,
	     struct error *err)
{
	const struct node *node = call->app;

	(void)err;
	rsp->version = arena_strdup(&call->arena, ZCSI_VERSION);
	rsp->time = wall_us();
	rsp->node_id = arena_strdup(&call->arena, node->id);
	rsp->boot = arena_strdup(&call->arena, node->boot ? node->boot : "");
	rsp->topology = arena_alloc(&call->arena, node->n_topology * sizeof(*rsp->topology));
	for (size_t i = 0; i < node->n_topology; i++) {
		Segment *segment = new_segment(&call->arena);
		segment->key = arena_strdup(&call->arena, node->topology[i].key);
		segment->value = arena_strdup(&call->arena, node->topology[i].value);
		rsp->topology[rsp->n_topology++] = segment;
	}
	rsp->address = node_address(node, &call->arena);
	rsp->known_hosts = kept_digest(node->kept);
	if (node->catalog)
		describe_pool(call, node, req, rsp);
	return 0;
}

/* Parse the property zcsi:source, "snapshot:<id>" or "volume:<id>", into the message. */
static void parse_source(struct arena *arena, const char *source, Dataset *message)
{
	const char *colon = strchr(source, ':');

	if (!colon)
		return;
	char *id = arena_strdup(arena, colon + 1);
	if (*source == 's')
		message->source_snapshot = id;
	else
		message->source_dataset = id;
}

static void add_trouble(Dataset *message, Trouble *trouble)
{
	if (trouble)
		message->troubles[message->n_troubles++] = trouble;
}

/* Returns the fault of a volume whose record of copies cannot be read. */
static Trouble *members_trouble(struct arena *arena, const struct dataset *dataset)
{
	Trouble *trouble = new_trouble(arena);

	trouble->text = arena_printf(arena,
				     "its record of copies, zcsi:members, cannot be read: '%s'; it "
				     "is pushed nowhere; write the right one, or go without copies",
				     dataset->members);
	trouble->remedy = arena_printf(arena, "zfs inherit zcsi:members %s", dataset->name);
	return trouble;
}

/*
 * Fill in the state of the copy on a node from the pusher's rows, one for each copy of the volume.
 */
static void show_copy(DatasetCopy *copy, const struct pushed *pushed, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(pushed[i].to, copy->node_id) != 0)
			continue;
		copy->known = pushed[i].known;
		copy->complete = pushed[i].synced != 0;
		copy->behind = copy->complete ? (wall_us() - pushed[i].synced) / 1000000 : 0;
		copy->running = pushed[i].running;
		copy->error = (char *)pushed[i].error;
	}
}

static void describe_copies(struct rpc_call *call, const struct dataset *dataset, Dataset *message)
{
	const struct node *node = call->app;
	struct members members;
	size_t n;

	if (!members_parse(&call->arena, dataset->members, &members)) {
		add_trouble(message, members_trouble(&call->arena, dataset));
		return;
	}
	enum follow_rule follow = push_rules_parse(dataset->push).follow;
	message->lineage = (char *)members.lineage;
	message->epoch = dataset->epoch;
	message->follows_anywhere = follow == FOLLOW_ANYWHERE;
	message->follows = message->follows_anywhere || (members.n && follow != FOLLOW_NO);
	if (!members.n)
		return;
	const struct pushed *pushed =
		pusher_copies(node->copies->pusher, &call->arena, dataset->name, &n);
	message->copies = arena_alloc(&call->arena, members.n * sizeof(*message->copies));
	for (size_t i = 0; i < members.n; i++) {
		if (strcmp(members.nodes[i], node->id) == 0)
			continue;
		DatasetCopy *copy = new_dataset_copy(&call->arena);
		copy->node_id = (char *)members.nodes[i];
		copy->every = members.every;
		show_copy(copy, pushed, n);
		message->copies[message->n_copies++] = copy;
	}
}

Dataset *agent_dataset(struct rpc_call *call, const struct dataset *dataset)
{
	const struct node *node = call->app;
	struct arena *arena = &call->arena;
	struct publication_list published;
	Dataset *message = new_dataset(arena);

	message->id = dataset->id;
	message->name = dataset->name;
	message->guid = dataset->guid;
	message->size = dataset->size;
	message->used = dataset->used;
	message->creation = dataset->creation;
	message->parameters = dataset->parameters;
	message->format = (char *)dataset->format->name;
	message->maybe_blank = dataset_may_be_blank(dataset);
	parse_source(arena, dataset->source, message);
	publication_parse(arena, dataset->published, &published);
	message->published = arena_alloc(arena, (published.n + 1) * sizeof(*message->published));
	for (size_t i = 0; i < published.n; i++) {
		Publication *publication = new_publication(arena);
		publication->node_id = arena_strdup(arena, published.rows[i].node_id);
		publication->access_mode = published.rows[i].access_mode;
		publication->readonly = published.rows[i].readonly;
		publication->address = arena_strdup(arena, published.rows[i].address);
		publication->idle = published.rows[i].idle;
		message->published[message->n_published++] = publication;
	}
	message->taken_over_by = (char *)ownership_parse(arena, dataset->owner).newer;
	message->troubles = arena_alloc(arena, TROUBLES_MAX * sizeof(*message->troubles));
	describe_copies(call, dataset, message);
	add_trouble(message, keeper_trouble(node->keeper, arena, dataset));
	add_trouble(message, troubles_find(node->unrepaired, arena, dataset->id));
	return message;
}

DatasetSnapshot *agent_snapshot(struct arena *arena, const struct snapshot *snapshot)
{
	DatasetSnapshot *message = new_dataset_snapshot(arena);

	message->id = snapshot->id;
	message->name = snapshot->name;
	message->dataset_id = snapshot->dataset_id;
	message->dataset_guid = snapshot->dataset_guid;
	message->zfs_name = snapshot->zfs_name;
	message->guid = snapshot->guid;
	message->creation = snapshot->creation;
	message->size = snapshot->size;
	message->group = snapshot->group;
	message->format = (char *)(snapshot->format ? snapshot->format->name : "");
	return message;
}

int get_dataset(struct rpc_call *call, const GetDatasetRequest *req, GetDatasetResponse *rsp,
		struct error *err)
{
	struct dataset *dataset;

	if (request_text(req->id, "id", err) < 0)
		return -1;
	if (node_find(call, req->id, &dataset, err) < 0) {
		/*
		 * A caller with a claim calls GetHost next, which reports whether NFS exports are
		 * possible but must not block. So the check is made here.
		 */
		if (req->claim)
			exports_look(call->app);
		const struct promise_wish wish = {.key = req->id,
						  .kind = NAME_VOLUME,
						  .name = req->id,
						  .claim = req->claim,
						  .target = req->target};
		return promise_give(call, &wish, &rsp->promised, &rsp->promise, err);
	}
	rsp->dataset = agent_dataset(call, dataset);
	return 0;
}

int agent_page(int32_t max, size_t *ret, struct error *err)
{
	if (max < 0 || max > AGENT_PAGE_MAX)
		return fail(err, ERR_INVALID_ARGUMENT, "max is %d; use 0 to %d", (int)max,
			    AGENT_PAGE_MAX);
	*ret = max ? (size_t)max : AGENT_PAGE_MAX;
	return 0;
}

int agent_text(const char *text, const char *field, struct error *err)
{
	if (request_text(text, field, err) < 0)
		return -1;
	if (strlen(text) > DATASET_ID_MAX)
		return fail(err, ERR_INVALID_ARGUMENT, "%s '%s' is longer than %d bytes", field,
			    text, DATASET_ID_MAX);
	return 0;
}

static int ascending(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

/*
 * Add the names of volumes that are moving from this host to another one: they stay taken while
 * this host is not reachable. A name may be in the list twice.
 */
static int add_moving(struct rpc_call *call, struct name_list *list, struct error *err)
{
	const struct node *node = call->app;
	const char **ids;
	size_t n;

	if (moves_list(node->moves, call->deadline, &call->arena, &ids, &n, err) < 0)
		return -1;
	if (!n)
		return 0;
	uint64_t *all = arena_alloc(&call->arena, (list->n + n) * sizeof(*all));
	memcpy(all, list->hashes, list->n * sizeof(*all));
	for (size_t i = 0; i < n; i++)
		all[list->n++] = name_hash(NAME_VOLUME, ids[i]);
	qsort(all, list->n, sizeof(*all), ascending);
	list->hashes = all;
	return 0;
}

/*
 * A name that was added while a caller read the pages may be missing in them. The caller sees this
 * from `names`: the next answer to GetHost has another value than the first page.
 */
int list_names(struct rpc_call *call, const ListNamesRequest *req, ListNamesResponse *rsp,
	       struct error *err)
{
	struct node *node = call->app;
	struct name_list list;
	size_t from = 0;

	if (!node->catalog)
		return 0;
	if (catalog_names(node->catalog, call->deadline, &call->arena, &list, err) < 0 ||
	    add_moving(call, &list, err) < 0)
		return -1;
	while (req->after && from < list.n && list.hashes[from] <= req->after)
		from++;
	rsp->hashes = list.hashes + from;
	rsp->n_hashes = list.n - from < HASHES_MAX ? list.n - from : HASHES_MAX;
	rsp->more = rsp->n_hashes < list.n - from;
	rsp->names = list.version;
	return 0;
}

int list_datasets(struct rpc_call *call, const ListDatasetsRequest *req, ListDatasetsResponse *rsp,
		  struct error *err)
{
	struct node *node = call->app;
	struct dataset_list page;
	size_t max;
	bool more;

	if (agent_page(req->max, &max, err) < 0)
		return -1;
	if (!node->catalog)
		return 0;
	if (catalog_page(node->catalog, call->deadline, &call->arena, req->after, max, &page, &more,
			 err) < 0)
		return -1;
	rsp->more = more;
	rsp->datasets = arena_alloc(&call->arena, (page.n + 1) * sizeof(*rsp->datasets));
	for (size_t i = 0; i < page.n; i++)
		rsp->datasets[rsp->n_datasets++] = agent_dataset(call, page.rows[i]);
	return 0;
}

int agent_reread(struct rpc_call *call, const char *zfs_name, struct error *err)
{
	struct node *node = call->app;
	struct error problem;

	if (catalog_reread(node->catalog, call->deadline, zfs_name, &problem) < 0) {
		*err = problem;
		return -1;
	}
	return 0;
}

void agent_reread_on_error(struct rpc_call *call, const char *zfs_name, struct error *err)
{
	if (err->code == ERR_NOT_FOUND || err->code == ERR_UNAVAILABLE)
		agent_reread(call, zfs_name, err);
}

/* Returns the dataset of a listing if it is the volume `known`, or NULL with *err. */
static const struct dataset *recognise(const struct listing *listing, const struct dataset *known,
				       struct error *err)
{
	const struct dataset *found = listing->n_datasets  ? listing->datasets[0]
				      : listing->n_trashed ? listing->trashed[0]
							   : NULL;

	if (!found || strcmp(found->id, known->id) || strcmp(found->name, known->name)) {
		fail(err, ERR_FAILED_PRECONDITION,
		     "the dataset '%s' is not volume '%s' any more, because its zcsi: properties "
		     "were changed; restore them and try again",
		     known->name, known->id);
		return NULL;
	}
	if (known->guid && found->guid != known->guid) {
		fail(err, ERR_FAILED_PRECONDITION,
		     "the dataset '%s' was replaced by another one of the same name; look at it, "
		     "and try again",
		     known->name);
		return NULL;
	}
	return found;
}

struct dataset *agent_prove(struct arena *arena, const char *parent, const struct dataset *known,
			    size_t *ret_children, struct error *err)
{
	struct listing listing;

	if (zfs_read_family(arena, parent, known->name, &listing, err) < 0)
		return NULL;
	const struct dataset *found = recognise(&listing, known, err);
	struct dataset *proven = found ? dataset_copy(arena, found) : NULL;
	*ret_children = 0;
	for (size_t i = 0; i < listing.n_others; i++)
		*ret_children += !strpbrk(listing.others[i], "@#");
	free(listing.text);
	return proven;
}

/*
 * With --zfs-over-ssh a filesystem is exported at its mountpoint, which depends on the name of the
 * dataset, so the mountpoint is set too.
 */
int agent_end_rename(struct arena *arena, const struct dataset *dataset, struct error *err)
{
	struct zfs_properties place = {.n = 0}, id = {.n = 0};

	if (ssh_server() && !dataset->format->zvol)
		zfs_property(&place, "mountpoint", exports_mountpoint(arena, dataset->name));
	zfs_property(&id, "zcsi:volume", escape_text(arena, dataset->id));
	return zfs_set(dataset->name, &place, err) < 0 ? -1 : zfs_set(dataset->name, &id, err);
}
