/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of Failover: what the survivors are asked before a copy becomes the volume. This host is
 * n2, with a copy of v; n3 and perhaps n4 have others, and n1 is lost.
 */
#include "node/owner/silent.h"
#include "node/service.h"

#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/volume/epoch.h"
#include "node/catalog/catalog.h"
#include "node/host/node.h"
#include "node/move/ask.h"
#include "node/move/take.h"
#include "tests/cmocka.h"

#define LINEAGE "00112233aabbccdd"

static struct node node = {.id = "n2", .boot = "b-1"};
static struct rpc_call call;
static struct error err;
static size_t members;      /* how many members v has: n1, n2, n3 and so on */
static const char *refuses; /* the survivor that reaches n1; NULL: none */
static char *asked;         /* calls of Accept, as "n3? n3 "; "?": only a check */
static bool taken;

int __wrap_take_read(struct rpc_call *rpc, const char *id, struct place *ret, struct error *error);
int __wrap_take_read(struct rpc_call *rpc, const char *id, struct place *ret, struct error *error)
{
	static struct place_snapshot newest = {.name = "t/p/_replica/v@_repl-1", .guid = 11};

	(void)rpc, (void)id, (void)error;
	*ret = (struct place){.role = PLACE_COPY,
			      .name = "t/p/_replica/v",
			      .members = {.lineage = LINEAGE, .nodes = {"n1", "n2", "n3", "n4"}},
			      .snapshots = &newest,
			      .n = 1};
	ret->members.n = members;
	return 0;
}

int __wrap_take_check_unused(struct arena *arena, const struct place *place, struct error *error);
int __wrap_take_check_unused(struct arena *arena, const struct place *place, struct error *error)
{
	(void)arena, (void)place, (void)error;
	return 0;
}

int __wrap_silent_check(struct rpc_call *rpc, const char *id, const char *lineage, const char *lost,
			struct error *error);
int __wrap_silent_check(struct rpc_call *rpc, const char *id, const char *lineage, const char *lost,
			struct error *error)
{
	(void)rpc, (void)id, (void)lineage, (void)error;
	assert_string_equal(lost, "n1");
	return 0;
}

int __wrap_ask_node_until(const struct node *from, const char *node_id, struct arena *arena,
			  const char *method, const ProtobufCMessage *message, int64_t deadline,
			  void *ret, struct error *error);
int __wrap_ask_node_until(const struct node *from, const char *node_id, struct arena *arena,
			  const char *method, const ProtobufCMessage *message, int64_t deadline,
			  void *ret, struct error *error)
{
	const AcceptRequest *request = (const AcceptRequest *)message;
	AcceptResponse *response = new_accept_response(arena);

	(void)from;
	assert_string_equal(method, "Accept");
	assert_int_equal(request->n_lost_node_ids, 1);
	assert_string_equal(request->lost_node_ids[0], "n1");
	/* A survivor may ask n1 for SILENT_MS, and has some more time for its answer. */
	assert_true(deadline - now_ms() > SILENT_MS + 10000);
	asked = arena_printf(arena, "%s%s%s ", asked, node_id, request->check ? "?" : "");
	if (refuses && strcmp(refuses, node_id) == 0)
		return fail(error, ERR_FAILED_PRECONDITION, "node '%s' reaches node 'n1'", node_id);
	response->guid = 11;
	memcpy(ret, &response, sizeof(response));
	return 0;
}

int __wrap_take_over(struct rpc_call *rpc, const struct take *take, const struct place *place,
		     struct error *error);
int __wrap_take_over(struct rpc_call *rpc, const struct take *take, const struct place *place,
		     struct error *error)
{
	(void)rpc, (void)place, (void)error;
	assert_int_equal(take->n_copies, members - 1);
	taken = true;
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(log_setup("error", "logfmt", &err), 0);
	arena_init(&call.arena, SIZE_MAX);
	node.catalog = catalog_new("t/p", 0);
	call.app = &node;
	call.deadline = NO_DEADLINE;
	refuses = NULL;
	asked = (char *)"";
	taken = false;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	catalog_free(node.catalog);
	arena_fini(&call.arena);
	return 0;
}

/* Have n2 take over v, which is on n nodes. Returns true if n2 takes it over. */
static bool takes_over(size_t n)
{
	FailoverRequest *request = new_failover_request(&call.arena);
	FailoverResponse *response = new_failover_response(&call.arena);
	char *lost[] = {(char *)"n1"};

	members = n;
	request->id = (char *)"v";
	request->lineage = (char *)LINEAGE;
	request->epoch = EPOCH_FAILOVER;
	request->guid = 11;
	request->lost_node_ids = lost;
	request->n_lost_node_ids = COUNT(lost);
	int failed = failover(&call, request, response, &err);
	assert_int_equal(failed, taken ? 0 : -1);
	return taken;
}

static void a_survivor_gets_the_lost_nodes(void **state)
{
	(void)state;
	assert_true(takes_over(3));
	assert_string_equal(asked, "n3 ");
}

static void without_survivors_none_is_asked(void **state)
{
	(void)state;
	assert_true(takes_over(2));
	assert_string_equal(asked, "");
}

static void the_reason_of_a_survivor_reaches_the_operator(void **state)
{
	(void)state;
	refuses = "n3";
	assert_false(takes_over(3));
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_non_null(strstr(err.text, "volume 'v' cannot be taken over by node 'n2'"));
	assert_non_null(strstr(err.text, "node 'n3' reaches node 'n1'"));
}

/* If n3 promised its copy and n4 refused, n1 would give v up, and no node would take it over. */
static void no_survivor_promises_if_another_one_refuses(void **state)
{
	(void)state;
	assert_true(takes_over(4));
	assert_string_equal(asked, "n3? n4? n3 n4 ");
	asked = (char *)"";
	taken = false;
	refuses = "n4";
	assert_false(takes_over(4));
	assert_string_equal(asked, "n3? n4? ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_survivor_gets_the_lost_nodes),
		TEST(without_survivors_none_is_asked),
		TEST(the_reason_of_a_survivor_reaches_the_operator),
		TEST(no_survivor_promises_if_another_one_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
