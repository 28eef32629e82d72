/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A fake of transport/client.c whose agents are in memory, so that the controller's handlers run
 * unchanged. A test program includes this file once, because each program of tests/unit has a
 * single source file.
 */
#include "tests/unit/controller/scripted_methods.h"
/* NOLINTNEXTLINE(bugprone-suspicious-include): a part of this file */
#include "tests/unit/controller/scripted_snapshots.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): a part of this file */
#include "tests/unit/controller/scripted_kept.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): a part of this file */
#include "tests/unit/controller/scripted_moves.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): a part of this file */
#include "tests/unit/controller/scripted_copies.c"

#include <stdlib.h>

#include "common/clock.h"
#include "transport/client.h"

unsigned silent_answers;
void (*meanwhile)(void);
struct client scripted[N_AGENTS];
struct rpc_call call;

int client_new(struct client **ret, struct loop *loop, const char *endpoint,
	       const struct client_options *options, struct error *err)
{
	(void)loop, (void)options;
	for (size_t i = 0; i < N_AGENTS; i++)
		if (strcmp(scripted[i].endpoint, endpoint) == 0) {
			*ret = &scripted[i];
			return 0;
		}
	return fail(err, ERR_INVALID_ARGUMENT, "'%s' is no endpoint", endpoint);
}

void client_free(struct client *client)
{
	(void)client;
}

bool client_is_up(const struct client *client)
{
	(void)client;
	return true;
}

void client_certificate(struct client *client, struct tls_certificate *ret)
{
	*ret = client->certificate;
	if (ret->names)
		ret->names = mem_strdup(ret->names);
}

const char *client_endpoint(const struct client *client)
{
	return client->endpoint;
}

struct client_call *client_begin(struct client *client, struct arena *arena,
				 const ProtobufCServiceDescriptor *service, const char *method,
				 const ProtobufCMessage *request, int64_t deadline)
{
	struct client_call *begun = arena_alloc(arena, sizeof(*begun));

	assert_non_null(protobuf_c_service_descriptor_get_method_by_name(service, method));
	assert_true(deadline <= call.deadline && deadline != NO_DEADLINE);
	*begun = (struct client_call){client, arena, method, request, deadline};
	return begun;
}

Dataset *dataset_of(struct client *client, const char *id)
{
	for (size_t i = 0; i < client->n_datasets; i++)
		if (strcmp(client->datasets[i]->id, id) == 0)
			return client->datasets[i];
	return NULL;
}

uint64_t next_guid(void)
{
	static uint64_t guids;

	return ++guids;
}

Dataset *add_dataset(struct client *client, const char *id, int64_t size, const char *parameters)
{
	Dataset *dataset = new_dataset(&call.arena);

	dataset->id = arena_strdup(&call.arena, id);
	dataset->name = arena_printf(&call.arena, "%s/%s", client->pool, id);
	dataset->size = size;
	dataset->format = arena_strdup(&call.arena, "zfs");
	dataset->guid = next_guid();
	dataset->parameters = arena_strdup(&call.arena, parameters);
	client->datasets[client->n_datasets++] = dataset;
	return dataset;
}

int do_get_host(const struct client_call *begun, GetHostResponse **ret, struct error *err)
{
	static const char *const keys[] = {"zcsi.zfs/node", "rack"};
	const char *const values[] = {begun->client->node, begun->client->rack};
	struct arena *arena = begun->arena;

	if (begun->client->hides)
		return scripted_hang(begun, err);
	*ret = new_get_host_response(arena);
	(*ret)->node_id = arena_strdup(arena, begun->client->node);
	(*ret)->dataset = arena_strdup(arena, begun->client->pool);
	(*ret)->problem = arena_strdup(arena, begun->client->problem);
	(*ret)->version =
		arena_strdup(arena, begun->client->version ? begun->client->version : "1");
	if (begun->client->boot)
		(*ret)->boot = arena_strdup(arena, begun->client->boot);
	if (begun->client->no_copies)
		(*ret)->no_copies = arena_strdup(arena, begun->client->no_copies);
	if (begun->client->no_export)
		(*ret)->no_export = arena_strdup(arena, begun->client->no_export);
	(*ret)->available = begun->client->available;
	(*ret)->size_limits = &begun->client->size_limit;
	(*ret)->n_size_limits = begun->client->size_limit != NULL;
	(*ret)->pool_guid = begun->client->pool_guid;
	(*ret)->names = begun->client->names;
	(*ret)->diverged = &begun->client->diverged;
	(*ret)->n_diverged = begun->client->diverged != 0;
	(*ret)->barrier = begun->client->barrier;
	(*ret)->promised = &begun->client->may_have;
	(*ret)->n_promised = begun->client->may_have != 0;
	(*ret)->known_hosts = begun->client->hosts.digest;
	(*ret)->time = wall_us() + begun->client->ahead_us;
	(*ret)->n_topology = COUNT(keys);
	(*ret)->topology = arena_alloc(arena, sizeof(Segment *) * COUNT(keys));
	for (size_t i = 0; i < COUNT(keys); i++) {
		(*ret)->topology[i] = new_segment(arena);
		(*ret)->topology[i]->key = arena_strdup(arena, keys[i]);
		(*ret)->topology[i]->value = arena_strdup(arena, values[i]);
	}
	return 0;
}

static int ascending(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

/* Returns pages of at most two hashes of names. */
int do_list_names(const struct client_call *begun, ListNamesResponse **ret, struct error *err)
{
	const ListNamesRequest *request = begun->request;
	struct client *client = begun->client;
	uint64_t *hashes = arena_alloc(begun->arena, (client->n_datasets + 1) * sizeof(*hashes));
	size_t from = 0, n = client->n_datasets;

	(void)err;
	client->names_read++;
	for (size_t i = 0; i < n; i++)
		hashes[i] = name_hash(NAME_VOLUME, client->datasets[i]->id);
	qsort(hashes, n, sizeof(*hashes), ascending);
	while (request->after && from < n && hashes[from] <= request->after)
		from++;
	*ret = new_list_names_response(begun->arena);
	(*ret)->names = client->names;
	(*ret)->hashes = hashes + from;
	(*ret)->n_hashes = n - from < 2 ? n - from : 2;
	(*ret)->more = (*ret)->n_hashes < n - from;
	return 0;
}

int promise(struct client *client, uint64_t claim, uint64_t *ret_promised, struct error *err)
{
	if (claim && claim <= client->promised) {
		*ret_promised = client->promised;
		return 0;
	}
	if (claim)
		client->promised = claim;
	return fail(err, ERR_NOT_FOUND, "not here");
}

Promise *promise_for(struct client *client, struct arena *arena, uint64_t target)
{
	Promise *promise = new_promise(arena);

	client->target = target;
	promise->forgot = client->forgot;
	promise->targets = arena_alloc(arena, sizeof(*promise->targets));
	promise->targets[0] = new_promise_target(arena);
	promise->targets[0]->node = client->before.node;
	promise->targets[0]->claim = client->before.claim;
	promise->n_targets = client->before.claim != 0;
	return promise;
}

int keep(struct client *client, uint64_t claim, struct error *err)
{
	assert_int_equal(claim, client->promised);
	if (!client->n_aborts)
		return 0;
	client->n_aborts--;
	return fail(err, ERR_ABORTED, "another call has looked for it since");
}

int do_get_dataset(const struct client_call *begun, GetDatasetResponse **ret, struct error *err)
{
	const GetDatasetRequest *request = begun->request;

	begun->client->looked++;
	if (begun->client->closes && begun->client->moves_to && begun->client->n_datasets)
		return fail(err, ERR_FAILED_PRECONDITION, "it is moving");
	if (begun->client->lookup != ERR_OK)
		return fail(err, begun->client->lookup, "cannot look");
	if (begun->client->closed != ERR_OK)
		return fail(err, begun->client->closed, "it is closed");
	*ret = new_get_dataset_response(begun->arena);
	(*ret)->dataset = dataset_of(begun->client, request->id);
	if ((*ret)->dataset || !promise(begun->client, request->claim, &(*ret)->promised, err))
		return 0;
	if (!request->target)
		return -1;
	err->code = ERR_OK;
	(*ret)->promise = promise_for(begun->client, begun->arena, request->target);
	return 0;
}

int do_create_dataset(const struct client_call *begun, CreateDatasetResponse **ret,
		      struct error *err)
{
	const CreateDatasetRequest *request = begun->request;

	if (keep(begun->client, request->claim, err) < 0)
		return -1;
	begun->client->created++;
	begun->client->create_request = request;
	*ret = new_create_dataset_response(begun->arena);
	(*ret)->dataset =
		add_dataset(begun->client, request->id, request->size, request->parameters);
	(*ret)->dataset->format = request->format;
	(*ret)->dataset->source_snapshot = request->source_snapshot;
	(*ret)->dataset->source_dataset = request->source_dataset;
	if (request->n_members > 1)
		set_copies((*ret)->dataset, request->members[1]);
	(*ret)->dataset->follows &= strcmp(request->follow, "no") != 0;
	(*ret)->dataset->follows_anywhere = strcmp(request->follow, "anywhere") == 0;
	return 0;
}

int do_resize_dataset(const struct client_call *begun, ResizeDatasetResponse **ret,
		      struct error *err)
{
	const ResizeDatasetRequest *request = begun->request;
	Dataset *dataset = dataset_of(begun->client, request->id);

	if (!dataset)
		return fail(err, ERR_NOT_FOUND, "not here");
	assert_true(request->size >= dataset->size); /* a volume must never shrink */
	begun->client->resized++;
	dataset->size = request->size;
	*ret = new_resize_dataset_response(begun->arena);
	(*ret)->dataset = dataset;
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const Dataset *left, *right;

	memcpy(&left, a, sizeof(left));
	memcpy(&right, b, sizeof(right));
	return strcmp(left->id, right->id);
}

int do_list_trash(const struct client_call *begun, ListTrashResponse **ret, struct error *err)
{
	(void)err;
	*ret = new_list_trash_response(begun->arena);
	(*ret)->datasets = &begun->client->trashed;
	(*ret)->n_datasets = begun->client->trashed != NULL;
	return 0;
}

int do_list_datasets(const struct client_call *begun, ListDatasetsResponse **ret, struct error *err)
{
	const ListDatasetsRequest *request = begun->request;
	struct client *client = begun->client;
	size_t max = request->max ? (size_t)request->max : 1000;

	assert_in_range(request->max, 0, 1000);
	client->listed++;
	if (client->lookup != ERR_OK)
		return fail(err, client->lookup, "cannot look");
	qsort(client->datasets, client->n_datasets, sizeof(client->datasets[0]), by_id);
	*ret = new_list_datasets_response(begun->arena);
	(*ret)->datasets = arena_alloc(begun->arena, max * sizeof(Dataset *));
	for (size_t i = 0; i < client->n_datasets; i++) {
		if (strcmp(client->datasets[i]->id, request->after) <= 0)
			continue;
		if ((*ret)->n_datasets == max) {
			(*ret)->more = true;
			break;
		}
		(*ret)->datasets[(*ret)->n_datasets++] = client->datasets[i];
	}
	return 0;
}

int do_publish_dataset(const struct client_call *begun, PublishDatasetResponse **ret,
		       struct error *err)
{
	if (begun->client->in_use)
		return fail(err, ERR_FAILED_PRECONDITION, "in use on node 'z'");
	begun->client->published++;
	*ret = new_publish_dataset_response(begun->arena);
	return 0;
}

int do_unpublish_dataset(const struct client_call *begun, UnpublishDatasetResponse **ret,
			 struct error *err)
{
	(void)err;
	begun->client->unpublished++;
	*ret = new_unpublish_dataset_response(begun->arena);
	return 0;
}

int do_destroy_dataset(const struct client_call *begun, DestroyDatasetResponse **ret,
		       struct error *err)
{
	(void)err;
	begun->client->destroyed++;
	*ret = new_destroy_dataset_response(begun->arena);
	return 0;
}

int do_settle_dataset(const struct client_call *begun, SettleDatasetResponse **ret,
		      struct error *err)
{
	const SettleDatasetRequest *request = begun->request;
	struct client *client = begun->client;
	Dataset *dataset = dataset_of(client, request->id);

	client->settled++;
	if (client->unsettled != ERR_OK)
		return fail(err, client->unsettled, "cannot settle");
	*ret = new_settle_dataset_response(begun->arena);
	assert_non_null(dataset);
	assert_int_equal(request->guid, dataset->guid);
	if (!*request->keeper) {
		dataset->maybe_blank = false;
		return 0;
	}
	assert_string_not_equal(request->keeper, client->node);
	if (!dataset->maybe_blank)
		return fail(err, ERR_FAILED_PRECONDITION, "it may have data");
	for (size_t i = 0; i < client->n_datasets; i++)
		if (client->datasets[i] == dataset)
			client->datasets[i] = client->datasets[--client->n_datasets];
	return 0;
}

/* Add copies on the candidate nodes until the dataset has as many replicas as the request wants. */
static void add_copies(Dataset *dataset, const ModifyDatasetRequest *request)
{
	size_t n = dataset->n_copies + request->n_candidates;
	DatasetCopy **copies = arena_alloc(&call.arena, (n + 1) * sizeof(*copies));

	for (size_t i = 0; i < dataset->n_copies; i++)
		copies[i] = dataset->copies[i];
	dataset->copies = copies;
	for (size_t i = 0; i < request->n_candidates; i++) {
		if (dataset->n_copies + 1 >= (size_t)request->replicas)
			return;
		copies[dataset->n_copies] = new_dataset_copy(&call.arena);
		copies[dataset->n_copies++]->node_id = request->candidates[i];
	}
}

int do_modify_dataset(const struct client_call *begun, ModifyDatasetResponse **ret,
		      struct error *err)
{
	const ModifyDatasetRequest *request = begun->request;
	Dataset *dataset = dataset_of(begun->client, request->id);

	(void)err;
	begun->client->modified++;
	begun->client->modify_request = request;
	if (!begun->client->older)
		add_copies(dataset, request);
	*ret = new_modify_dataset_response(begun->arena);
	(*ret)->dataset = dataset;
	(*ret)->knows_copies = !begun->client->older;
	return 0;
}

#define RUN(Name, name)                                                                            \
	static int run_##name(const struct client_call *begun, void *ret, struct error *err)       \
	{                                                                                          \
		Name##Response *response = NULL;                                                   \
		if (do_##name(begun, &response, err) < 0)                                          \
			return -1;                                                                 \
		memcpy(ret, &response, sizeof(response));                                          \
		return 0;                                                                          \
	}
SCRIPTED_METHODS(RUN)

#define ROW(Name, name) {#Name, run_##name},
static const struct {
	const char *name;
	int (*run)(const struct client_call *begun, void *ret, struct error *err);
} methods[] = {SCRIPTED_METHODS(ROW)};

int client_finish(struct client_call *begun, void *ret_response, struct error *err)
{
	void (*first)(void) = meanwhile;

	meanwhile = NULL;
	if (first)
		first();
	if (silent_answers) {
		silent_answers--;
		return fail(err, ERR_UNAVAILABLE, "no answer yet");
	}
	if (begun->client->silent != ERR_OK) {
		begun->client->unanswered++;
		return fail(err, begun->client->silent, "no answer from '%s'",
			    begun->client->endpoint);
	}
	for (size_t i = 0; i < COUNT(methods); i++)
		if (strcmp(methods[i].name, begun->method) == 0)
			return methods[i].run(begun, ret_response, err);
	return fail(err, ERR_UNIMPLEMENTED, "%s", begun->method);
}

/* Start a new controller, which has called no agent yet. */
static void new_controller(void)
{
	const char *values[N_AGENTS] = {scripted[0].endpoint, scripted[1].endpoint,
					scripted[2].endpoint};
	static const struct trust trust;
	const struct agents_options options = {.named = &(struct option_list){values, N_AGENTS},
					       .trust = &trust};
	struct error err;

	assert_int_equal(agents_new((struct agents **)&call.app, NULL, &options, &err), 0);
	call.state = NULL;
}

void scripted_restart(void)
{
	agents_free(call.app);
	new_controller();
}

int scripted_setup(void **state)
{
	(void)state;
	meanwhile = NULL;
	silent_answers = 0;
	scripted[0] = (struct client){.endpoint = "unix:///a",
				      .node = "a",
				      .rack = "1",
				      .pool = "pool-a/csi",
				      .problem = "",
				      .available = 10};
	scripted[1] = (struct client){.endpoint = "unix:///b",
				      .node = "b",
				      .rack = "1",
				      .pool = "pool-b/csi",
				      .problem = "",
				      .available = 30};
	scripted[2] = (struct client){.endpoint = "unix:///c",
				      .node = "c",
				      .rack = "2",
				      .pool = "pool-c/csi",
				      .problem = "",
				      .available = 20};
	call = (struct rpc_call){.deadline = NO_DEADLINE};
	arena_init(&call.arena, SIZE_MAX);
	new_controller();
	return 0;
}

int scripted_teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_AGENTS; i++)
		host_list_fini(&scripted[i].hosts);
	arena_fini(&call.arena);
	agents_free(call.app);
	return 0;
}
