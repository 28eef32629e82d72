/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of publications: which nodes may use a volume at the same time, and the text of
 * zcsi:published.
 */
#include "tests/cmocka.h"

#include <string.h>

#include "node/record/publication_change.h"

enum { SNW = 1, SNRO = 2, MNRO = 3, MNSW = 4, MNMW = 5, SNSW = 6, SNMW = 7 };

static struct arena arena;

static int setup(void **state)
{
	(void)state;
	arena_init(&arena, 1 << 20);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_fini(&arena);
	return 0;
}

static struct publication_list parse(const char *text)
{
	struct publication_list list;

	publication_parse(&arena, text, &list);
	return list;
}

static void text_survives_a_round_trip(void **state)
{
	static const char *const texts[] = {"-",
					    "n1:1:rw",
					    "n1:5:rw,n2:3:ro",
					    "a_3Ab_2Cc:1:ro",
					    "n1:5:rw:10.0.0.1,n2:5:rw:fd00_3A_3A1",
					    "n1:1:rw-idle",
					    "n1:3:ro-idle,n2:5:rw:10.0.0.1"};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct publication_list list = parse(texts[i]);
		assert_string_equal(publication_format(&arena, &list), texts[i]);
	}
	assert_int_equal(parse("").n, 0);
	assert_int_equal(parse("-").n, 0);
	struct publication_list odd = parse("a_3Ab_2Cc:1:ro");
	assert_string_equal(odd.rows[0].node_id, "a:b,c");
	assert_int_equal(odd.rows[0].access_mode, SNW);
	assert_true(odd.rows[0].readonly);
}

static void unreadable_text_keeps_the_volume_published(void **state)
{
	static const char *const texts[] = {
		"x",         "n1",       "n1:1",     "n1:1:",    "n1:1:rx",  "n1:0:rw",
		"n1:8:rw",   "n1:11:rw", ":1:rw",    ",",        "n1:1:rw,", "n_zz:1:rw",
		"n1:1:rw,x", "::",       "n1:1:rw:", "n1:-1:rw", "n1:1:rw-", "n1:1:-idle",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct publication_list list = parse(texts[i]), after;
		struct publication want = {.node_id = "n1", .access_mode = MNMW, .address = ""};
		struct error err;
		assert_int_equal(list.n, 1);
		assert_string_equal(list.rows[0].node_id, PUBLICATION_UNREADABLE);
		assert_int_equal(publication_admit(&arena, "v", "n1", &list, &want, &after, &err),
				 -1);
		assert_int_equal(err.code, ERR_UNAVAILABLE);
		assert_false(publication_withdraw(&arena, &list, "n1", &after));
		assert_true(publication_withdraw(&arena, &list, "", &after));
		assert_int_equal(after.n, 0);
	}
}

/* Each case is a list, a request, and the new list or the error. The holder is n1. */
static const struct {
	const char *has;
	struct publication want;
	const char *becomes; /* NULL: the list is unchanged, or code is an error */
	enum error_code code;
} cases[] = {
	{"-", {"n1", SNW, false, "", false}, "n1:1:rw", ERR_OK},
	{"n1:1:rw", {"n1", SNW, false, "", false}, NULL, ERR_OK},
	{"n1:1:rw", {"n1", SNW, true, "", false}, NULL, ERR_ALREADY_EXISTS},
	{"n1:1:rw", {"n1", SNRO, false, "", false}, NULL, ERR_ALREADY_EXISTS},
	{"n1:1:rw", {"n1", MNMW, false, "", false}, NULL, ERR_ALREADY_EXISTS},
	{"n1:1:rw", {"n2", SNW, false, "", false}, NULL, ERR_FAILED_PRECONDITION},
	{"n1:2:ro", {"n2", SNRO, true, "", false}, NULL, ERR_FAILED_PRECONDITION},
	{"n1:6:rw", {"n2", SNSW, false, "", false}, NULL, ERR_FAILED_PRECONDITION},
	{"n1:7:rw", {"n2", SNMW, false, "", false}, NULL, ERR_FAILED_PRECONDITION},
	{"n1:5:rw", {"n2", SNW, false, "", false}, NULL, ERR_FAILED_PRECONDITION},
	{"n1:1:rw", {"n2", MNMW, false, "", false}, NULL, ERR_FAILED_PRECONDITION},
	{"n1:5:rw", {"n2", MNMW, false, "", false}, "n1:5:rw,n2:5:rw", ERR_OK},
	{"n1:3:rw", {"n2", MNRO, false, "", false}, "n1:3:rw,n2:3:rw", ERR_OK},
	{"n1:5:rw", {"n2", MNRO, true, "", false}, "n1:5:rw,n2:3:ro", ERR_OK},
	{"n1:4:rw", {"n2", MNSW, true, "", false}, "n1:4:rw,n2:4:ro", ERR_OK},
	{"n1:4:rw", {"n2", MNSW, false, "", false}, NULL, ERR_FAILED_PRECONDITION},
	{"n1:4:ro", {"n2", MNSW, false, "", false}, "n1:4:ro,n2:4:rw", ERR_OK},
	{"n1:5:rw", {"n2", MNSW, false, "", false}, NULL, ERR_FAILED_PRECONDITION},
	{"n1:4:rw", {"n2", MNRO, false, "", false}, "n1:4:rw,n2:3:rw", ERR_OK},
	/* A node has one entry; it allows everything that any of the node's workloads may do. */
	{"n1:3:ro", {"n1", MNMW, false, "", false}, "n1:5:rw", ERR_OK},
	{"n1:5:rw", {"n1", MNRO, true, "", false}, NULL, ERR_OK},
	{"n1:4:ro,n2:4:rw:10.0.0.2", {"n1", MNSW, false, "", false}, NULL, ERR_FAILED_PRECONDITION},
	/* A node may publish again with another address. */
	{"n1:1:rw:10.0.0.1", {"n1", SNW, false, "10.0.0.1", false}, NULL, ERR_OK},
	{"n1:1:rw:10.0.0.1", {"n1", SNW, false, "fd00::1", false}, "n1:1:rw:fd00_3A_3A1", ERR_OK},
	{"n1:5:rw:10.0.0.1", {"n2", MNRO, false, "", false}, "n1:5:rw:10.0.0.1,n2:3:rw", ERR_OK},
	{"n1:1:rw:10.0.0.1", {"n2", SNW, false, "10.0.0.1", false}, NULL, ERR_FAILED_PRECONDITION},
	/* An idle entry is removed if it conflicts with the request. */
	{"n1:1:rw-idle", {"n1", SNW, false, "", false}, "n1:1:rw", ERR_OK},
	{"n1:1:rw-idle", {"n1", MNRO, true, "", false}, "n1:3:ro", ERR_OK},
	{"n1:5:rw-idle", {"n1", MNRO, true, "", false}, "n1:3:ro", ERR_OK},
	{"n1:1:rw-idle", {"n2", SNW, false, "10.0.0.2", false}, "n2:1:rw:10.0.0.2", ERR_OK},
	{"n1:5:rw-idle",
	 {"n2", MNMW, false, "10.0.0.2", false},
	 "n1:5:rw-idle,n2:5:rw:10.0.0.2",
	 ERR_OK},
	{"n1:4:rw-idle,n2:4:rw:10.0.0.2",
	 {"n1", MNSW, false, "", false},
	 NULL,
	 ERR_FAILED_PRECONDITION},
	/* A publication of this host under its earlier node id is removed, unless it is by NFS. */
	{"old:1:rw", {"n1", SNW, false, "", false}, "n1:1:rw", ERR_OK},
	{"old:1:rw", {"old", SNW, true, "10.0.0.2", false}, "old:1:ro:10.0.0.2", ERR_OK},
	{"old:1:rw:10.0.0.1", {"n1", SNW, false, "", false}, NULL, ERR_FAILED_PRECONDITION},
	{"n2:1:rw-idle:10.0.0.2", {"n1", SNW, false, "", false}, NULL, ERR_FAILED_PRECONDITION},
};

static void access_modes_are_enforced(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct publication_list list = parse(cases[i].has), after;
		struct error err = {0};
		int admitted =
			publication_admit(&arena, "v", "n1", &list, &cases[i].want, &after, &err);
		assert_int_equal(err.code, cases[i].code);
		assert_int_equal(admitted, cases[i].code ? -1 : cases[i].becomes != NULL);
		if (cases[i].becomes)
			assert_string_equal(publication_format(&arena, &after), cases[i].becomes);
	}
}

/* Each case is a list, the mode of a staging on n1, and the new list or the error. */
static void a_staging_ends_idleness(void **state)
{
	static const struct {
		const char *has;
		int mode;
		const char *becomes; /* NULL: the list is unchanged, or code is an error */
		enum error_code code;
	} stagings[] = {
		{"n1:1:rw-idle", SNW, "n1:1:rw", ERR_OK},
		{"n1:3:ro-idle,n2:5:rw:10.0.0.2", MNRO, "n1:3:ro,n2:5:rw:10.0.0.2", ERR_OK},
		{"n1:1:rw", SNW, NULL, ERR_OK},
		/*
		 * A staging needs no publication to its node, unless one to another node excludes
		 * it.
		 */
		{"-", SNW, NULL, ERR_OK},
		{"x", SNW, NULL, ERR_OK},
		{"old:1:rw", SNW, NULL, ERR_OK},
		{"n2:5:rw:10.0.0.2", MNMW, NULL, ERR_OK},
		{"n2:1:rw:10.0.0.2", SNW, NULL, ERR_FAILED_PRECONDITION},
		{"n2:5:rw:10.0.0.2", SNW, NULL, ERR_FAILED_PRECONDITION},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(stagings); i++) {
		struct publication_list list = parse(stagings[i].has), after;
		struct publication want = {"n1", stagings[i].mode, false, "", false};
		struct error err = {0};
		int staged = publication_stage(&arena, "v", &list, &want, &after, &err);
		assert_int_equal(err.code, stagings[i].code);
		assert_int_equal(staged, stagings[i].code ? -1 : stagings[i].becomes != NULL);
		if (stagings[i].becomes)
			assert_string_equal(publication_format(&arena, &after),
					    stagings[i].becomes);
	}
}

static void only_the_holder_rests(void **state)
{
	static const char *const unchanged[] = {"-", "x", "n2:1:rw", "n1:1:rw:10.0.0.1",
						"n1:1:rw-idle"};
	struct publication_list list = parse("n1:5:ro,n2:5:rw:10.0.0.2"), after;

	(void)state;
	assert_true(publication_rest(&arena, &list, "n1", &after));
	assert_string_equal(publication_format(&arena, &after), "n1:5:ro-idle,n2:5:rw:10.0.0.2");
	assert_string_equal(publication_names(&arena, &after, "n1"), "node 'n2'");
	for (size_t i = 0; i < COUNT(unchanged); i++) {
		list = parse(unchanged[i]);
		assert_false(publication_rest(&arena, &list, "n1", &after));
	}
}

static void refusal_names_the_node(void **state)
{
	struct publication_list list = parse("rack_5F1:1:rw"), after;
	struct publication want = {.node_id = "n2", .access_mode = SNW, .address = ""};
	struct error err;

	(void)state;
	assert_int_equal(publication_admit(&arena, "v", "rack_1", &list, &want, &after, &err), -1);
	assert_non_null(strstr(err.text, "'rack_1'"));
	assert_non_null(strstr(err.text, "'v'"));
	assert_non_null(strstr(err.text, "SINGLE_NODE_WRITER"));
}

static void a_node_or_all_are_withdrawn(void **state)
{
	struct publication_list list = parse("n1:5:rw,n2:5:rw"), after;

	(void)state;
	assert_false(publication_withdraw(&arena, &list, "n3", &after));
	assert_true(publication_withdraw(&arena, &list, "n1", &after));
	assert_string_equal(publication_format(&arena, &after), "n2:5:rw");
	assert_true(publication_withdraw(&arena, &list, "", &after));
	assert_string_equal(publication_format(&arena, &after), "-");
	list = parse("n1:5:rw,n2:5:rw:10.0.0.2");
	assert_string_equal(publication_names(&arena, &list, "n1"), "node 'n1', node 'n2'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(text_survives_a_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(unreadable_text_keeps_the_volume_published, setup,
						teardown),
		cmocka_unit_test_setup_teardown(access_modes_are_enforced, setup, teardown),
		cmocka_unit_test_setup_teardown(a_staging_ends_idleness, setup, teardown),
		cmocka_unit_test_setup_teardown(only_the_holder_rests, setup, teardown),
		cmocka_unit_test_setup_teardown(refusal_names_the_node, setup, teardown),
		cmocka_unit_test_setup_teardown(a_node_or_all_are_withdrawn, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
