/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A move away from this host, in which each call may fail, hang, or be done although it failed. In
 * place of ZFS and of the other node there is the state of two pools. However it ends, one of the
 * nodes can use the volume, or the move is tried again.
 */
#include "node/move/depart.h"

#include <string.h>

#include "node/attach/device.h"
#include "node/catalog/change.h"
#include "node/host/moves.h"
#include "node/move/give_up.h"
#include "node/stream/keyed.h"
#include "node/move/offer.h"
#include "node/move/sending.h"
#include "node/zfs/zfs.h"
#include "tests/cmocka.h"

#define CALLS  24 /* more calls than a move makes */
#define FAULTS 2  /* faults in one move */

enum fault {
	REFUSED, /* the call fails, and its work is not done */
	DONE,    /* the call fails although its work is done */
	LOST,    /* no answer, and its work is not done */
	HANGS,   /* no answer, but its work is done; ZFS does not answer meanwhile */
	FAULT_KINDS,
};

static struct {
	enum place_role role;
	enum place_device device;
	int64_t epoch;
	bool marked, sent, promoted;
} pools;

static struct {
	int call; /* the number of the call that is to fail */
	enum fault kind;
} faults[FAULTS];
static int calls, hangs, tries, cancel_at, tries_max;
static struct moves *moves;
static atomic_bool cancelled, given_up;
static int64_t later; /* the epoch that the copy gets while the move waits to lock it; 0: none */

/* Returns true if a call does its work; *ret_status is what it returns. */
static bool works(int *ret_status, struct error *err)
{
	static const struct error answers[FAULT_KINDS] = {
		{ERR_FAILED_PRECONDITION, "refused"},
		{ERR_FAILED_PRECONDITION, "done"},
		{ERR_UNAVAILABLE, "lost"},
		{ERR_UNAVAILABLE, "hangs"},
	};

	cancelled |= ++calls == cancel_at;
	*ret_status = 0;
	for (size_t i = 0; i < FAULTS; i++) {
		if (faults[i].call != calls)
			continue;
		*err = answers[faults[i].kind];
		*ret_status = -1;
		hangs = faults[i].kind == HANGS ? 2 : 0;
		return faults[i].kind == DONE || faults[i].kind == HANGS;
	}
	return true;
}

int __wrap_place_read(struct arena *at, const char *parent, const char *id, struct place *ret,
		      struct error *err);
int __wrap_place_read(struct arena *at, const char *parent, const char *id, struct place *ret,
		      struct error *err)
{
	struct place_snapshot *snapshot = arena_alloc(at, sizeof(*snapshot));
	int status;

	(void)parent;
	(void)id;
	if (hangs && hangs--)
		return fail(err, ERR_UNAVAILABLE, "zfs hangs");
	works(&status, err);
	*snapshot = (struct place_snapshot){.name = "t/p/v@a", .guid = 11};
	if (pools.marked) {
		snapshot->to = "n2";
		snapshot->epoch = 1;
	}
	*ret = (struct place){.role = pools.role,
			      .device = pools.device,
			      .name = "t/p/v",
			      .epoch = pools.epoch,
			      .snapshots = snapshot,
			      .n = pools.role == PLACE_NONE ? 0 : 1};
	return status;
}

int __wrap_zfs_snapshot(const char *const *names, size_t n, const struct zfs_properties *properties,
			struct error *err);
int __wrap_zfs_snapshot(const char *const *names, size_t n, const struct zfs_properties *properties,
			struct error *err)
{
	int status;

	(void)names;
	(void)properties;
	assert_int_equal(n, 1);
	if (works(&status, err))
		pools.marked = true;
	return status;
}

int __wrap_sending_last(struct depart *depart, const char *to, struct error *err);
int __wrap_sending_last(struct depart *depart, const char *to, struct error *err)
{
	int status;

	(void)depart;
	(void)to;
	if (works(&status, err))
		pools.sent = true;
	return status;
}

void __wrap_sending_last_to_others(struct depart *depart, const char *dataset);
void __wrap_sending_last_to_others(struct depart *depart, const char *dataset)
{
	(void)depart;
	(void)dataset;
}

int __wrap_offer_volume(struct depart *depart, const struct place *place, bool check,
			struct error *err);
int __wrap_offer_volume(struct depart *depart, const struct place *place, bool check,
			struct error *err)
{
	int status;

	(void)depart;
	(void)place;
	if (works(&status, err) && !check) {
		assert_true(pools.role == PLACE_COPY && pools.sent);
		pools.promoted = true;
	}
	return status;
}

int __wrap_device_hide(const char *dataset, struct error *err);
int __wrap_device_hide(const char *dataset, struct error *err)
{
	int status;

	(void)dataset;
	if (works(&status, err))
		pools.device = DEVICE_HIDDEN;
	return status;
}

int __wrap_device_show(const char *dataset, struct error *err);
int __wrap_device_show(const char *dataset, struct error *err)
{
	int status;

	(void)dataset;
	if (works(&status, err))
		pools.device = DEVICE_SHOWN;
	return status;
}

int __wrap_give_up(struct depart *depart, const struct place *place, struct error *err);
int __wrap_give_up(struct depart *depart, const struct place *place, struct error *err)
{
	int status;

	(void)depart;
	(void)place;
	assert_int_not_equal(pools.device, DEVICE_SHOWN);
	if (works(&status, err))
		pools.role = PLACE_COPY;
	return status;
}

int __wrap_zfs_inherit(const char *name, const char *property, struct error *err);
int __wrap_zfs_inherit(const char *name, const char *property, struct error *err)
{
	int status;

	(void)name;
	assert_string_equal(property, "zcsi:moving");
	if (works(&status, err))
		pools.marked = false;
	return status;
}

int __wrap_zfs_set(const char *name, const struct zfs_properties *properties, struct error *err);
int __wrap_zfs_set(const char *name, const struct zfs_properties *properties, struct error *err)
{
	int status;

	(void)name;
	assert_string_equal(properties->rows[0].name, "zcsi:epoch");
	if (works(&status, err))
		pools.epoch = 1;
	return status;
}

/* Functions that need a catalog, a pusher or a loop, which this test does not have */

int __wrap_sending_catch_up(struct depart *depart, struct error *err);
int __wrap_sending_catch_up(struct depart *depart, struct error *err)
{
	(void)depart;
	(void)err;
	return 0;
}

int __wrap_sending_begin(struct depart *depart, struct arena *at, const char *to, struct push *ret,
			 struct error *err);
int __wrap_sending_begin(struct depart *depart, struct arena *at, const char *to, struct push *ret,
			 struct error *err)
{
	(void)depart;
	(void)at;
	(void)to;
	(void)ret;
	(void)err;
	return 0;
}

int __wrap_sending_lock(const struct depart *depart, struct push *push, int64_t deadline,
			struct error *err);
int __wrap_sending_lock(const struct depart *depart, struct push *push, int64_t deadline,
			struct error *err)
{
	(void)depart;
	(void)push;
	(void)deadline;
	(void)err;
	return 0;
}

void __wrap_push_unlock(struct push *push);
void __wrap_push_unlock(struct push *push)
{
	(void)push;
}

void __wrap_keyed_run(struct copies *copies, const char *id, void (*fn)(void *arg), void *arg);
void __wrap_keyed_run(struct copies *copies, const char *id, void (*fn)(void *arg), void *arg)
{
	(void)copies;
	(void)fn;
	(void)arg;
	moves_close(moves, id, "n2");
}

const char *__wrap_catalog_parent(const struct catalog *catalog);
const char *__wrap_catalog_parent(const struct catalog *catalog)
{
	(void)catalog;
	return "t/p";
}

int __wrap_catalog_lock_key(struct catalog *catalog, int64_t deadline, const char *key,
			    struct error *err);
int __wrap_catalog_lock_key(struct catalog *catalog, int64_t deadline, const char *key,
			    struct error *err)
{
	(void)catalog;
	(void)deadline;
	(void)err;
	assert_string_equal(key, "copy t/p/v");
	pools.epoch = later ? later : pools.epoch;
	return 0;
}

void __wrap_catalog_unlock_key(struct catalog *catalog, const char *key);
void __wrap_catalog_unlock_key(struct catalog *catalog, const char *key)
{
	(void)catalog;
	(void)key;
}

void __wrap_catalog_drop(struct catalog *catalog, const char *zfs_name);
void __wrap_catalog_drop(struct catalog *catalog, const char *zfs_name)
{
	(void)catalog;
	(void)zfs_name;
}

/* The tests */

static bool retries(void *arg, const struct error *err)
{
	(void)arg;
	(void)err;
	return ++tries < tries_max;
}

/* Run a move of a volume with a device in this state, or without one. */
static int run(enum place_device device, struct error *err)
{
	const struct node node = {.id = "n1", .moves = moves};
	struct depart depart = {.node = &node,
				.id = "v",
				.to = "n2",
				.cancelled = &cancelled,
				.given_up = &given_up,
				.retries = retries};

	pools.role = PLACE_PRIMARY;
	pools.device = device;
	pools.epoch = 0;
	pools.marked = pools.sent = pools.promoted = false;
	calls = hangs = tries = 0;
	cancelled = given_up = false;
	return depart_run(&depart, err);
}

static bool is_open(void)
{
	struct error err;

	return moves_check(moves, "v", &err) == 0;
}

/* Check that the volume is where the move says that it is, and usable there. */
static void check_end(enum place_device device, int failed, const struct error *err)
{
	assert_true(tries < tries_max && is_open());
	if (!failed) {
		assert_true(pools.promoted && pools.epoch == 1);
		assert_int_equal(pools.role, PLACE_COPY);
		return;
	}
	assert_false(pools.promoted);
	assert_int_equal(pools.role, PLACE_PRIMARY);
	assert_int_equal(pools.device, device);
	assert_true(*err->text);
}

static void a_move_without_faults_ends_there(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(run(DEVICE_NONE, &err), 0);
	check_end(DEVICE_NONE, 0, &err);
	int filesystem = calls;
	assert_int_equal(run(DEVICE_SHOWN, &err), 0);
	check_end(DEVICE_SHOWN, 0, &err);
	/*
	 * A volume with a device costs two more calls: hiding the device, and reading the pool
	 * again.
	 */
	assert_int_equal(calls, filesystem + 2);
	assert_true(calls < CALLS && tries == 0);
}

static void fail_each(enum place_device device)
{
	struct error err;

	for (faults[0].call = 1; faults[0].call < CALLS; faults[0].call++)
		for (faults[1].call = faults[0].call + 1; faults[1].call <= CALLS; faults[1].call++)
			for (int kinds = 0; kinds < FAULT_KINDS * FAULT_KINDS; kinds++) {
				faults[0].kind = (enum fault)(kinds / FAULT_KINDS);
				faults[1].kind = (enum fault)(kinds % FAULT_KINDS);
				int failed = run(device, &err);
				check_end(device, failed, &err);
			}
}

/* A copy gets a later epoch by a failover to yet another node, for example. */
static void a_copy_with_a_later_epoch_keeps_it(void **state)
{
	struct error err;

	(void)state;
	later = 3;
	assert_int_equal(run(DEVICE_NONE, &err), 0);
	assert_true(pools.promoted && pools.epoch == 3);
	later = 0;
}

static void after_any_failure_one_node_can_use_the_volume(void **state)
{
	(void)state;
	fail_each(DEVICE_NONE);
	fail_each(DEVICE_SHOWN);
}

static void a_move_that_is_cancelled_ends_here_until_the_volume_is_given_up(void **state)
{
	struct error err;
	int ended_here = 0;

	(void)state;
	for (cancel_at = 1; cancel_at < CALLS; cancel_at++) {
		int failed = run(DEVICE_SHOWN, &err);
		check_end(DEVICE_SHOWN, failed, &err);
		assert_int_equal(failed, given_up ? 0 : -1);
		if (!failed)
			continue;
		ended_here = cancel_at;
		assert_int_equal(err.code, ERR_CANCELLED);
		assert_false(pools.marked);
	}
	assert_in_range(ended_here, 6, CALLS - 2);
}

static void the_first_error_is_the_reason(void **state)
{
	struct error err;

	(void)state;
	faults[0].call = 2; /* taking the last snapshot: done, but reported as failed */
	faults[0].kind = DONE;
	faults[1].call = 4; /* removing the record of that snapshot */
	faults[1].kind = REFUSED;
	assert_int_equal(run(DEVICE_SHOWN, &err), -1);
	assert_string_equal(err.text, "done");
}

static void a_volume_that_is_given_up_stays_closed_when_zcsi_node_stops(void **state)
{
	struct error err;

	(void)state;
	for (faults[0].call = 1; pools.role != PLACE_COPY; faults[0].call++) {
		faults[0].kind = HANGS;
		tries_max = 1;
		assert_int_equal(run(DEVICE_NONE, &err), -1);
		assert_int_equal(is_open(), pools.role == PLACE_PRIMARY);
	}
	assert_false(pools.promoted);
}

static int set_up(void **state)
{
	(void)state;
	memset(faults, 0, sizeof(faults));
	cancel_at = 0;
	tries_max = 10;
	moves = moves_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	moves_free(moves);
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_move_without_faults_ends_there),
		TEST(a_copy_with_a_later_epoch_keeps_it),
		TEST(after_any_failure_one_node_can_use_the_volume),
		TEST(a_move_that_is_cancelled_ends_here_until_the_volume_is_given_up),
		TEST(the_first_error_is_the_reason),
		TEST(a_volume_that_is_given_up_stays_closed_when_zcsi_node_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
