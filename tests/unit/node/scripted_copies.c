/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Pushes of one volume of this host, n1, to copies on other nodes. In place of ZFS and of the other
 * nodes there are lists of snapshots here, and a stream arrives, is cut, or loses its answer, as a
 * test says. A test program includes this file once, because each program of tests/unit has a
 * single source file.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): a part of this file */
#include "tests/unit/node/scripted_pool.c"

/* The other nodes */

int __wrap_peers_dial(struct peers *peers, const char *node_id, int64_t deadline,
		      struct client **ret, struct error *err);
int __wrap_peers_dial(struct peers *peers, const char *node_id, int64_t deadline,
		      struct client **ret, struct error *err)
{
	(void)peers, (void)deadline;
	for (size_t i = 0; i < COPIES; i++)
		if (strcmp(node_id, node_of(i)) == 0)
			called = &twins[i];
	*ret = NULL;
	return called->silent ? fail(err, ERR_UNAVAILABLE, "it is silent") : 0;
}

void __wrap_peers_hang_up(struct peers *peers, struct client *client);
void __wrap_peers_hang_up(struct peers *peers, struct client *client)
{
	(void)peers, (void)client;
}

static CopySnapshot *snapshot_of(struct arena *at, const struct twin *twin, size_t i)
{
	CopySnapshot *snapshot = new_copy_snapshot(at);

	snapshot->name = arena_strdup(at, twin->leaves[i]);
	snapshot->guid = twin->guids[i];
	snapshot->ours =
		!strncmp(snapshot->name, HISTORY_OWN, strlen(HISTORY_OWN)) || twin->described[i];
	snapshot->kept = snapshot->guid == twin->held;
	return snapshot;
}

static CopyState *state_of(struct arena *at, const struct twin *twin, size_t most)
{
	CopyState *copy = new_copy_state(at);

	copy->lineage = (char *)"00112233aabbccdd";
	copy->token = (char *)(twin->to ? "token" : "");
	copy->available = INT64_MAX;
	copy->snapshots = arena_alloc(at, (twin->n + 2) * sizeof(*copy->snapshots));
	if (twin->foreign) {
		CopySnapshot *snapshot = new_copy_snapshot(at);
		snapshot->name = (char *)twin->foreign;
		snapshot->guid = UINT64_MAX;
		copy->snapshots[copy->n_snapshots++] = snapshot;
	}
	for (size_t i = twin->n; i-- > 0 && copy->n_snapshots < most;)
		copy->snapshots[copy->n_snapshots++] = snapshot_of(at, twin, i);
	copy->more = copy->n_snapshots < twin->n;
	return copy;
}

/*
 * Remove a snapshot from the copy that is called. Assert that zcsi made it, that it is not the
 * copy's newest one, and that this host does not have it.
 */
static void lose(const CopySnapshot *snapshot)
{
	size_t at = 0;

	while (at < called->n && called->guids[at] != snapshot->guid)
		at++;
	assert_true(at + 1 < called->n);
	assert_string_equal(called->leaves[at], snapshot->name);
	assert_true(strncmp(snapshot->name, "tool-", 5) && snapshot->guid != called->held);
	assert_false(has(snapshot->guid, true));
	called->n--;
	memmove(&called->guids[at], &called->guids[at + 1],
		(called->n - at) * sizeof(*called->guids));
	memmove(&called->leaves[at], &called->leaves[at + 1],
		(called->n - at) * sizeof(*called->leaves));
	memmove(&called->described[at], &called->described[at + 1],
		(called->n - at) * sizeof(*called->described));
}

static void lose_all(const ThinCopyRequest *request)
{
	assert_string_equal(request->id, "v");
	assert_string_equal(request->lineage, "00112233aabbccdd");
	assert_int_equal(request->epoch, 7);
	assert_true(request->n_snapshots > 0);
	for (size_t i = 0; i < request->n_snapshots && !called->keeps && steps > 0; i++)
		lose(request->snapshots[i]);
}

struct client_call *__wrap_client_begin(struct client *client, struct arena *at,
					const ProtobufCServiceDescriptor *service,
					const char *method, const ProtobufCMessage *request,
					int64_t deadline);
/* Set the record of a snapshot of the copy; only snapshots that CSI asked for have one. */
static void describe(const SnapshotRecord *record)
{
	size_t at = 0;

	while (at < called->n && called->guids[at] != record->guid)
		at++;
	assert_true(at < called->n && !called->described[at]);
	assert_string_equal(called->leaves[at], record->name);
	assert_int_equal(strncmp(record->name, "asked-", 6), 0);
	assert_string_equal(record->properties[1]->name, "zcsi:snapshot");
	called->described[at] = true;
}

static void describe_all(const DescribeCopyRequest *request)
{
	assert_string_equal(request->lineage, "00112233aabbccdd");
	assert_true(request->n_snapshots > 0);
	for (size_t i = 0; i < request->n_snapshots && steps > 0; i++)
		describe(request->snapshots[i]);
}

struct client_call *__wrap_client_begin(struct client *client, struct arena *at,
					const ProtobufCServiceDescriptor *service,
					const char *method, const ProtobufCMessage *request,
					int64_t deadline)
{
	(void)client, (void)at, (void)service, (void)deadline;
	method_called = method;
	if (strcmp(method, "ThinCopy") == 0) {
		lose_all((const ThinCopyRequest *)request);
		return NULL;
	}
	if (strcmp(method, "DescribeCopy") == 0) {
		describe_all((const DescribeCopyRequest *)request);
		return NULL;
	}
	assert_string_equal(method, "GetCopy");
	shows = ((const GetCopyRequest *)request)->all ? POINTS : shown;
	return NULL;
}

int __wrap_client_finish(struct client_call *call, void *ret_response, struct error *err);
int __wrap_client_finish(struct client_call *call, void *ret_response, struct error *err)
{
	GetCopyResponse *response = new_get_copy_response(&arena);

	(void)call;
	if (strcmp(method_called, "ThinCopy") == 0)
		return called->keeps ? fail(err, ERR_ABORTED, "it is received") : step(err);
	if (strcmp(method_called, "DescribeCopy") == 0)
		return step(err);
	response->available = INT64_MAX;
	if (called->n || called->to)
		response->copy = state_of(&arena, called, shows);
	*(GetCopyResponse **)ret_response = response;
	return 0;
}

/*
 * Receive a stream into the copy that is called: it arrives, is cut, or arrives and its answer is
 * lost.
 */
static int receive(struct push *push, uint64_t from, const struct point *to, struct error *err)
{
	called->to = called->from = 0;
	if (called->cut > 0 && called->cut_after-- <= 0) {
		called->cut--;
		called->from = from;
		called->to = to->guid;
		return fail(err, ERR_UNAVAILABLE, "the stream was cut");
	}
	for (size_t i = 0; i < called->n; i++)
		assert_string_not_equal(called->leaves[i], to->leaf);
	snprintf(called->leaves[called->n], sizeof(*called->leaves), "%s", to->leaf);
	called->described[called->n] = !strncmp(to->leaf, "asked-", 6) && !called->ends;
	called->guids[called->n++] = to->guid;
	assert_true(called->n < POINTS);
	if (called->unsaid > 0) {
		called->unsaid--;
		return fail(err, ERR_UNAVAILABLE, "the answer was lost");
	}
	push->copy = state_of(&arena, called, shown);
	return 0;
}

int __wrap_part_send(struct push *push, const struct part *part, struct error *err);
int __wrap_part_send(struct push *push, const struct part *part, struct error *err)
{
	uint64_t from = part->base ? part->base->guid : 0;

	if (steps <= 0)
		return step(err);
	assert_true(!called->to || push->header->discard);
	assert_int_equal(from, called->n ? called->guids[called->n - 1] : 0);
	assert_true(!part->base || named(part->base->name));
	if (called->refuses && !strncmp(part->to->leaf, "tool-", 5)) {
		push->copy = NULL;
		return fail(err, ERR_FAILED_PRECONDITION, "destination already exists");
	}
	return receive(push, from, part->to, err);
}

int __wrap_part_send_rest(struct push *push, const struct point *to, struct error *err);
int __wrap_part_send_rest(struct push *push, const struct point *to, struct error *err)
{
	if (steps <= 0)
		return step(err);
	assert_int_equal(called->to, to->guid);
	return receive(push, called->from, to, err);
}

uint64_t __wrap_part_of_token(struct push *push, int64_t *ret_size);
uint64_t __wrap_part_of_token(struct push *push, int64_t *ret_size)
{
	assert_string_equal(push->copy->token, "token");
	*ret_size = 0;
	return called->to;
}

int __wrap_part_estimate(struct push *push, struct part *part, struct error *err);
int __wrap_part_estimate(struct push *push, struct part *part, struct error *err)
{
	(void)push, (void)part, (void)err;
	return 0;
}

/* In these tests CSI asked for the snapshots whose names begin with "asked-". */
SnapshotRecord *__wrap_part_record(const struct push *push, const struct point *point);
SnapshotRecord *__wrap_part_record(const struct push *push, const struct point *point)
{
	const struct snapshot asked = {.name = (char *)"asked", .group = (char *)""};
	bool is_asked = !strncmp(point->leaf, "asked-", 6);

	return header_record(push->arena, point->leaf, point->guid, is_asked ? &asked : NULL);
}

/* Functions of this host besides its pool, replaced for the tests */

int __wrap_header_make(struct arena *at, const char *parent, const struct dataset *volume,
		       ReceiveHeader **ret, const char **ret_flags, struct error *err);
int __wrap_header_make(struct arena *at, const char *parent, const struct dataset *volume,
		       ReceiveHeader **ret, const char **ret_flags, struct error *err)
{
	(void)parent, (void)volume, (void)err;
	*ret = new_receive_header(at);
	(*ret)->epoch = 7;
	*ret_flags = "-Lc";
	return 0;
}

int __wrap_program_check(struct error *err);
int __wrap_program_check(struct error *err)
{
	(void)err;
	return 0;
}

const char *__wrap_catalog_parent(const struct catalog *catalog);
const char *__wrap_catalog_parent(const struct catalog *catalog)
{
	(void)catalog;
	return "t/p";
}

static struct dataset *volume(void)
{
	static struct dataset made_once = {
		.id = (char *)"v", .name = (char *)VOLUME, .members = (char *)MEMBERS};

	made_once.format = format_find(FORMAT_ZFS);
	made_once.push = (char *)rules;
	made_once.owner = owner;
	return dataset_copy(&arena, &made_once);
}

int __wrap_catalog_get(struct catalog *catalog, int64_t deadline, struct arena *at, const char *id,
		       struct dataset **ret, struct error *err);
int __wrap_catalog_get(struct catalog *catalog, int64_t deadline, struct arena *at, const char *id,
		       struct dataset **ret, struct error *err)
{
	(void)catalog, (void)deadline, (void)at, (void)id, (void)err;
	*ret = volume();
	return 0;
}

int __wrap_catalog_lock_key(struct catalog *catalog, int64_t deadline, const char *key,
			    struct error *err);
int __wrap_catalog_lock_key(struct catalog *catalog, int64_t deadline, const char *key,
			    struct error *err)
{
	(void)catalog, (void)deadline, (void)key, (void)err;
	void (*waited)(void) = while_locked;

	while_locked = NULL;
	if (waited)
		waited();
	assert_false(locked || queued);
	locked = true;
	return 0;
}

void __wrap_catalog_unlock_key(struct catalog *catalog, const char *key);
void __wrap_catalog_unlock_key(struct catalog *catalog, const char *key)
{
	(void)catalog, (void)key;
	locked = false;
}

/* The volume as it is in the pool may have changed since the push began. */
void __wrap_keyed_run(struct copies *copies, const char *id, void (*fn)(void *arg), void *arg);
void __wrap_keyed_run(struct copies *copies, const char *id, void (*fn)(void *arg), void *arg)
{
	(void)copies;
	assert_string_equal(id, "v");
	assert_false(locked);
	queued = true;
	fn(arg);
	queued = false;
}

int __wrap_zfs_set(const char *name, const struct zfs_properties *properties, struct error *err);
int __wrap_zfs_set(const char *name, const struct zfs_properties *properties, struct error *err)
{
	assert_true(queued);
	assert_string_equal(name, VOLUME);
	assert_int_equal(properties->n, 1);
	assert_string_equal(properties->rows[0].name, "zcsi:owner");
	if (step(err) < 0)
		return -1;
	snprintf(owner, sizeof(owner), "%s", properties->rows[0].value);
	return 0;
}

void __wrap_catalog_put(struct catalog *catalog, const struct dataset *dataset);
void __wrap_catalog_put(struct catalog *catalog, const struct dataset *dataset)
{
	(void)catalog;
	assert_string_equal(dataset->owner, owner);
}

/* The pusher */

/* Start the pusher of zcsi-node anew: it has read the pool, and all else is forgotten. */
static void start(void)
{
	struct dataset *row = volume();
	const struct dataset_list volumes = {&row, 1};
	const uint64_t mark = 0;

	orders_fini(&orders);
	orders = (struct order_list){.n = 0};
	orders_follow(&orders, "n1", &volumes, &mark);
	steps = INT32_MAX;
}

static int set_up(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(log_setup("error", "logfmt", &err), 0);
	arena_init(&arena, SIZE_MAX);
	n_made = last_guid = 0;
	rules = "";
	strcpy(owner, "");
	locked = queued = false;
	memset(twins, 0, sizeof(twins));
	shown = POINTS;
	start();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	orders_fini(&orders);
	orders = (struct order_list){.n = 0};
	arena_fini(&arena);
	return 0;
}

static struct order *pushed_to;

static void refresh(struct push *push)
{
	int64_t synced;
	struct error err;

	orders_refresh(&orders, pushed_to, push);
	if (!pushed_to->known && push_known(push, &synced, &err) == 0)
		order_known(pushed_to, synced);
}

/* Push to a copy, as the pusher does. */
static int push_again(size_t at)
{
	static const struct node node = {.id = "n1"};
	struct order *order = orders.rows[at];
	struct push push = {.node = &node,
			    .volume = volume(),
			    .to = node_of(at),
			    .refresh = refresh,
			    .progress = &order->progress,
			    .arena = &arena};
	struct synced synced = {.time = 1};
	struct error err = {.code = ERR_OK};
	int64_t time = 0;

	members_parse(&arena, MEMBERS, &push.members);
	pushed_to = order;
	int failed = push_run(&push, &time, &err);
	order_learn(order, &push);
	synced.at = push.taken.at;
	if (failed)
		order_failed(order, &err, 0);
	else
		order_done(order, &synced, 0);
	/* No push may end with an error that only a person can mend. */
	assert_string_equal(failed && err.code != ERR_UNAVAILABLE ? err.text : "", "");
	return failed;
}

/* Push to a copy, as after a request: the copy is to get all that was written until now. */
static int push_to(size_t at)
{
	orders_push_now(&orders, "v");
	return push_again(at);
}

static uint64_t newest_of(size_t at)
{
	return twins[at].n ? twins[at].guids[twins[at].n - 1] : 0;
}

/*
 * Push to each copy twice, so that each has data and its node has answered. In a new pool SETTLED
 * snapshots are taken by that.
 */
static void settle(void)
{
	for (size_t i = 0; i < 2 * COPIES; i++)
		assert_int_equal(push_to(i % COPIES), 0);
	assert_int_equal(own_snapshots(), COPIES);
}
