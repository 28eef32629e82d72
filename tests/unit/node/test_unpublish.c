/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of UnpublishDataset: a volume whose last publication ends is pushed to its copies. */
#include "node/agent/agent.h"

#include <string.h>

#include "node/copy/pusher.h"
#include "node/export/exports.h"
#include "node/service.h"
#include "node/stream/copies.h"
#include "tests/arena.h"
#include "tests/cmocka.h"

static struct dataset volume;
static const char *record; /* zcsi:published, as it was set last */
static int pushes;
static bool broken; /* zfs_set fails */

int __wrap_node_find(struct rpc_call *call, const char *id, struct dataset **ret,
		     struct error *err);
int __wrap_node_find(struct rpc_call *call, const char *id, struct dataset **ret, struct error *err)
{
	(void)call, (void)err;
	assert_string_equal(id, "v");
	*ret = &volume;
	return 0;
}

int __wrap_zfs_set(const char *name, const struct zfs_properties *properties, struct error *err);
int __wrap_zfs_set(const char *name, const struct zfs_properties *properties, struct error *err)
{
	assert_string_equal(name, "t/p/v");
	assert_int_equal(pushes, 0);
	if (broken)
		return fail(err, ERR_INTERNAL, "it is broken");
	record = arena_strdup(&arena, properties->rows[0].value);
	return 0;
}

void __wrap_catalog_put(struct catalog *catalog, const struct dataset *dataset);
void __wrap_catalog_put(struct catalog *catalog, const struct dataset *dataset)
{
	(void)catalog, (void)dataset;
}

int __wrap_exports_apply(struct arena *at, const struct node *node, const struct dataset *dataset,
			 int64_t deadline, struct error *err);
int __wrap_exports_apply(struct arena *at, const struct node *node, const struct dataset *dataset,
			 int64_t deadline, struct error *err)
{
	(void)at, (void)node, (void)dataset, (void)deadline, (void)err;
	return 0;
}

void __wrap_pusher_push(struct pusher *pusher, const char *id);
void __wrap_pusher_push(struct pusher *pusher, const char *id)
{
	(void)pusher;
	assert_string_equal(id, "v");
	assert_string_equal(record, "-");
	pushes++;
}

/* Call UnpublishDataset for a volume with this value of zcsi:published. Returns the result. */
static int unpublish(const char *published, const char *node_id)
{
	static struct copies copies;
	static struct node node = {.id = "n1", .copies = &copies};
	struct rpc_call call = {.app = &node, .arena = {.cap = SIZE_MAX}};
	UnpublishDatasetRequest request = ZCSI__V1__UNPUBLISH_DATASET_REQUEST__INIT;
	UnpublishDatasetResponse response = ZCSI__V1__UNPUBLISH_DATASET_RESPONSE__INIT;
	struct error err;

	request.id = (char *)"v";
	request.node_id = (char *)node_id;
	volume.published = (char *)published;
	record = published;
	pushes = 0;
	int result = unpublish_dataset(&call, &request, &response, &err);
	arena_fini(&call.arena);
	return result;
}

static int set_up(void **state)
{
	(void)state;
	broken = false;
	volume = (struct dataset){.id = (char *)"v",
				  .name = (char *)"t/p/v",
				  .members = (char *)"00112233aabbccdd:300:n1,n2",
				  .push = (char *)"bandwidth=65536"};
	return 0;
}

static void the_end_of_the_last_publication_is_pushed(void **state)
{
	(void)state;
	assert_int_equal(unpublish("n1:1:rw,n2:1:rw:10.0.0.2", "n2"), 0);
	assert_true(pushes == 0 && strcmp(record, "n1:1:rw") == 0);
	assert_int_equal(unpublish("n1:1:rw", "n1"), 0);
	assert_int_equal(pushes, 1);
	assert_int_equal(unpublish("n1:1:rw,n2:1:rw:10.0.0.2", ""), 0);
	assert_int_equal(pushes, 1);
}

static void a_repeat_is_not_pushed(void **state)
{
	(void)state;
	assert_int_equal(unpublish("-", "n1"), 0);
	assert_int_equal(unpublish("n1:1:rw", "n2"), 0);
	assert_int_equal(pushes, 0);
}

static void a_volume_that_stays_published_is_not_pushed(void **state)
{
	(void)state;
	broken = true;
	assert_int_equal(unpublish("n1:1:rw", "n1"), -1);
	assert_int_equal(pushes, 0);
}

static void a_volume_without_copies_or_a_paused_one_is_not_pushed(void **state)
{
	(void)state;
	volume.push = (char *)"paused,bandwidth=65536";
	assert_int_equal(unpublish("n1:1:rw", "n1"), 0);
	assert_int_equal(pushes, 0);
	volume.push = volume.members = (char *)"";
	assert_int_equal(unpublish("n1:1:rw", "n1"), 0);
	assert_int_equal(pushes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_end_of_the_last_publication_is_pushed, set_up),
		cmocka_unit_test_setup(a_repeat_is_not_pushed, set_up),
		cmocka_unit_test_setup(a_volume_that_stays_published_is_not_pushed, set_up),
		cmocka_unit_test_setup(a_volume_without_copies_or_a_paused_one_is_not_pushed,
				       set_up),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
