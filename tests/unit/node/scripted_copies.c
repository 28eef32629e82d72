/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Pushes of one volume of this host, n1, to copies on other nodes. In place of ZFS and of the other
 * nodes there are lists of snapshots here, and a stream arrives, is cut, or loses its answer, as a
 * test says. A test program includes this file once, because each program of tests/unit has a
 * single source file.
 */
#include "node/copy/push.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "node/copy/header.h"
#include "node/copy/history.h"
#include "node/copy/order.h"
#include "node/copy/part.h"
#include "node/stream/program.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_run.h"
#include "tests/cmocka.h"

#define VOLUME  "t/p/v"
#define MEMBERS "00112233aabbccdd:60:n1,n2,n3,n4"
#define COPIES  3
#define POINTS  256 /* more than there ever are in a test */
#define SETTLED ((uint64_t)2 * COPIES)

/* A snapshot or a bookmark of this host; bookmarks come after the snapshot they were made of. */
struct made {
	char name[64];
	uint64_t guid; /* 0: it is gone */
	int64_t creation;
};

/* A copy as its node has it. */
struct twin {
	uint64_t guids[POINTS];  /* of its snapshots, oldest first */
	char leaves[POINTS][64]; /* their names */
	size_t n;
	uint64_t held;       /* the snapshot that somebody holds */
	bool keeps;          /* it answers ThinCopy with an error */
	uint64_t to, from;   /* an interrupted stream */
	const char *foreign; /* the name of a snapshot that somebody took of the copy; NULL: none */
	bool silent;
	bool refuses;    /* a snapshot of another tool */
	int cut, unsaid; /* so many streams are cut, or lose their answer; the next ones, */
	int cut_after;   /* but for so many before the first one that is cut */
};

static struct arena arena;
static struct made made[POINTS];
static size_t n_made;
static uint64_t last_guid;
static struct twin twins[COPIES];
static struct twin *called;       /* by the push that runs */
static const char *method_called; /* the method that was called last */
static size_t shown; /* so many snapshots are returned, unless it is to be all of them */
static size_t shows; /* so many by the call that runs */
static struct order_list orders;
static const char *rules; /* zcsi:push */
static int steps;         /* so many changes of the pool, then zcsi-node is killed */

static const char *node_of(size_t at)
{
	static const char *const nodes[COPIES] = {"n2", "n3", "n4"};

	return nodes[at];
}

/* The pool of this host */

static struct made *named(const char *name)
{
	for (size_t i = 0; i < n_made; i++)
		if (made[i].guid && strcmp(made[i].name, name) == 0)
			return &made[i];
	return NULL;
}

static uint64_t guid_of(const char *name)
{
	const struct made *found = named(name);

	return found ? found->guid : 0;
}

static bool has(uint64_t guid, bool bookmarks)
{
	for (size_t i = 0; i < n_made; i++)
		if (made[i].guid == guid && (bookmarks || strchr(made[i].name, '@')))
			return true;
	return false;
}

static size_t own_snapshots(void)
{
	size_t n = 0;

	for (size_t i = 0; i < n_made; i++)
		n += made[i].guid && strstr(made[i].name, "@" HISTORY_OWN);
	return n;
}

static void make(size_t at, const char *name, uint64_t guid)
{
	assert_true(n_made < POINTS);
	memmove(&made[at + 1], &made[at], (n_made++ - at) * sizeof(*made));
	made[at].guid = guid;
	made[at].creation = time(NULL);
	snprintf(made[at].name, sizeof(made[at].name), "%s", name);
}

/* As CSI does. */
static void ask_for_snapshot(void)
{
	uint64_t guid = ++last_guid;

	make(n_made, arena_printf(&arena, VOLUME "@asked-%" PRIu64, guid), guid);
}

/* Take a snapshot as another tool does. Returns its guid. */
static uint64_t take_by_tool(const char *name)
{
	uint64_t guid = ++last_guid;

	make(n_made, arena_printf(&arena, VOLUME "@%s", name), guid);
	return guid;
}

/* Returns -1 if zcsi-node is dead, so that nothing changes any more. */
static int step(struct error *err)
{
	return steps-- > 0 ? 0 : fail(err, ERR_UNAVAILABLE, "zcsi-node was killed");
}

/* Let the clock go on, as it does while a program runs. */
static void take_time(void)
{
	int64_t begun = now_us();

	while (now_us() == begun)
		;
}

int __wrap_zfs_snapshot(const char *const *names, size_t n, const struct zfs_properties *properties,
			struct error *err);
int __wrap_zfs_snapshot(const char *const *names, size_t n, const struct zfs_properties *properties,
			struct error *err)
{
	assert_true(n == 1 && !properties->n);
	if (step(err) < 0)
		return -1;
	make(n_made, names[0], ++last_guid);
	take_time();
	return 0;
}

int __wrap_zfs_destroy(const char *name, struct error *err);
int __wrap_zfs_destroy(const char *name, struct error *err)
{
	struct made *gone = named(name);

	if (step(err) < 0)
		return -1;
	if (!gone)
		return fail(err, ERR_NOT_FOUND, "it does not exist");
	gone->guid = 0;
	return 0;
}

/* Only `zfs bookmark` is run so. */
int __wrap_zfs_run(const char *const *argv, struct error *err);
int __wrap_zfs_run(const char *const *argv, struct error *err)
{
	const struct made *of = named(argv[2]);

	assert_string_equal(argv[1], "bookmark");
	assert_non_null(of);
	if (step(err) < 0)
		return -1;
	assert_null(named(argv[3]));
	make((size_t)(of - made) + 1, argv[3], of->guid);
	return 0;
}

int __wrap_history_read(struct arena *at, const char *dataset, struct history *ret,
			struct error *err);
int __wrap_history_read(struct arena *at, const char *dataset, struct history *ret,
			struct error *err)
{
	char *text = arena_strdup(at, "");

	(void)err;
	assert_string_equal(dataset, VOLUME);
	for (size_t i = 0; i < n_made; i++)
		if (made[i].guid)
			text = arena_printf(at, "%s%s\t%" PRIu64 "\t%" PRId64 "\t0\n", text,
					    made[i].name, made[i].guid, made[i].creation);
	assert_true(history_parse(at, text, ret));
	return 0;
}

/* NOLINTNEXTLINE(bugprone-suspicious-include): a part of this file */
#include "tests/unit/node/scripted_twins.c"

/* The rest of this host */

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
	return 0;
}

void __wrap_catalog_unlock_key(struct catalog *catalog, const char *key);
void __wrap_catalog_unlock_key(struct catalog *catalog, const char *key)
{
	(void)catalog, (void)key;
}

/* The pusher */

/* zcsi-node starts, and knows nothing but what is in the pool. */
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

/* Push to a copy, as the pusher does. */
static int push_again(size_t at)
{
	static const struct node node = {.id = "n1"};
	struct order *order = orders.rows[at];
	struct push push = {.node = &node,
			    .volume = volume(),
			    .to = node_of(at),
			    .progress = &order->progress,
			    .arena = &arena};
	struct synced synced = {.time = 1};
	struct error err = {.code = ERR_OK};
	int64_t time = 0;

	members_parse(&arena, MEMBERS, &push.members);
	orders_tell(&orders, order, &push);
	if (!order->known && push_known(&push, &time, &err) == 0)
		order_known(order, time);
	int failed = push_run(&push, &time, &err);
	order_learn(order, &push);
	synced.at = push.taken.at;
	if (failed)
		order_failed(order, &err, 0);
	else
		order_done(order, &synced, 0);
	/* No push may end with something that only a person can mend. */
	assert_string_equal(failed && err.code != ERR_UNAVAILABLE ? err.text : "", "");
	return failed;
}

/* All that was written before is wanted. */
static int push_to(size_t at)
{
	orders_hurry(&orders, "v");
	return push_again(at);
}

static uint64_t newest_of(size_t at)
{
	return twins[at].n ? twins[at].guids[twins[at].n - 1] : 0;
}

/* Every copy has something, and has been heard. In a new pool SETTLED snapshots were taken then. */
static void settle(void)
{
	for (size_t i = 0; i < 2 * COPIES; i++)
		assert_int_equal(push_to(i % COPIES), 0);
	assert_int_equal(own_snapshots(), COPIES);
}
