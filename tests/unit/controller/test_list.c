/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of ListVolumes and ListSnapshots: the lists of several agents are merged, in pages of any
 * size.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"

#define N_VOLUMES 2500

static struct error err;

static ListVolumesResponse *list(int32_t max_entries, const char *token)
{
	ListVolumesRequest *request = new_list_volumes_request(&call.arena);
	ListVolumesResponse *response = new_list_volumes_response(&call.arena);

	request->max_entries = max_entries;
	request->starting_token = arena_strdup(&call.arena, token);
	return list_volumes(&call, request, response, &err) < 0 ? NULL : response;
}

static void spread_volumes(void)
{
	for (int i = 0; i < N_VOLUMES; i++)
		add_dataset(&scripted[i % 7 % N_AGENTS],
			    arena_printf(&call.arena, "volume %05d/\xc3\xa9", i), i, "");
}

/* Every volume is listed once and in order, whatever the page size. */
static void volumes_are_listed_in_pages(void **state)
{
	static const int32_t sizes[] = {0, 1000, 999, 1001, 100, 2499, 2500, 2501, INT32_MAX};

	(void)state;
	spread_volumes();
	for (size_t i = 0; i < COUNT(sizes); i++) {
		const char *token = "";
		size_t seen = 0;
		do {
			ListVolumesResponse *page = list(sizes[i], token);
			assert_non_null(page);
			assert_true(sizes[i] == 0 || page->n_entries <= (size_t)sizes[i]);
			for (size_t k = 0; k < page->n_entries; k++)
				assert_int_equal(page->entries[k]->volume->capacity_bytes, seen++);
			token = page->next_token;
			assert_true(!*token || page->n_entries == (size_t)sizes[i]);
		} while (*token);
		assert_int_equal(seen, N_VOLUMES);
	}
}

static void no_volumes_give_an_empty_page(void **state)
{
	(void)state;
	ListVolumesResponse *page = list(0, "");
	assert_non_null(page);
	assert_int_equal(page->n_entries, 0);
	assert_string_equal(page->next_token, "");
}

static void an_entry_has_the_volume_and_its_status(void **state)
{
	(void)state;
	Dataset *dataset = add_dataset(&scripted[2], "v", 7, "");
	Publication *publication = new_publication(&call.arena);
	char node[] = "c";
	publication->node_id = node;
	dataset->n_published = 1;
	dataset->published = &publication;
	ListVolumesResponse *page = list(0, "");
	assert_int_equal(page->n_entries, 1);
	const Volume *volume = page->entries[0]->volume;
	assert_string_equal(volume->volume_id, "v");
	assert_int_equal(volume->capacity_bytes, 7);
	struct map context = map_of(&call.arena, volume, volume_context);
	assert_string_equal(map_get(&context, "attach"), "local");
	assert_int_equal(volume->n_accessible_topology, 1);
	struct map segments = map_of(&call.arena, volume->accessible_topology[0], segments);
	assert_string_equal(map_get(&segments, "zcsi.zfs/node"), "c");
	assert_int_equal(page->entries[0]->status->n_published_node_ids, 1);
	assert_string_equal(page->entries[0]->status->published_node_ids[0], "c");
	assert_false(page->entries[0]->status->volume_condition->abnormal);
	assert_true(*page->entries[0]->status->volume_condition->message);
}

static void problems_show_in_the_condition(void **state)
{
	char problem[] = "the pool is suspended";

	(void)state;
	scripted[0].problem = problem;
	add_dataset(&scripted[0], "v", 1, "");
	add_dataset(&scripted[1], "w", 1, "");
	add_dataset(&scripted[2], "w", 1, "");
	ListVolumesResponse *page = list(0, "");
	assert_int_equal(page->n_entries, 2);
	const VolumeCondition *v = page->entries[0]->status->volume_condition;
	const VolumeCondition *w = page->entries[1]->status->volume_condition;
	assert_true(v->abnormal);
	assert_string_equal(v->message, problem);
	assert_true(w->abnormal);
	assert_non_null(strstr(w->message, "exists twice, on nodes 'b' and 'c'"));
}

/* A token is a position in the order of ids. It stays valid if the volume at that position is
 * deleted. */
static void a_token_outlives_its_volume(void **state)
{
	(void)state;
	add_dataset(&scripted[0], "a", 1, "");
	add_dataset(&scripted[0], "b", 2, "");
	ListVolumesResponse *page = list(1, "");
	assert_string_equal(page->entries[0]->volume->volume_id, "a");
	scripted[0].datasets[0] = scripted[0].datasets[1];
	scripted[0].n_datasets = 1;
	page = list(1, page->next_token);
	assert_int_equal(page->n_entries, 1);
	assert_string_equal(page->entries[0]->volume->volume_id, "b");
	assert_string_equal(page->next_token, "");
}

static void wrong_requests_are_refused(void **state)
{
	static const char *const tokens[] = {"invalid-token", "after:", "after:_zz", "a",
					     "after:a b"};

	(void)state;
	for (size_t i = 0; i < COUNT(tokens); i++) {
		assert_null(list(0, tokens[i]));
		assert_int_equal(err.code, ERR_ABORTED);
	}
	assert_null(list(-1, ""));
	assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
}

static void duplicates_are_listed_once(void **state)
{
	(void)state;
	add_dataset(&scripted[0], "v", 1, "");
	add_dataset(&scripted[1], "v", 1, "");
	add_dataset(&scripted[1], "w", 1, "");
	assert_int_equal(list(0, "")->n_entries, 2);
}

static void every_agent_must_answer(void **state)
{
	(void)state;
	add_dataset(&scripted[0], "v", 1, "");
	scripted[1].silent = ERR_DEADLINE_EXCEEDED;
	assert_null(list(0, ""));
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "unix:///b"));
	scripted[1].silent = ERR_OK;
	scripted[1].lookup = ERR_FAILED_PRECONDITION;
	assert_null(list(0, ""));
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_non_null(strstr(err.text, "unix:///b"));
	/* A host without a pool has nothing to list. */
	scripted[1].pool = "";
	assert_int_equal(list(0, "")->n_entries, 1);
}

static ListSnapshotsResponse *list_of(const char *id, const char *volume, int32_t max_entries,
				      const char *token)
{
	ListSnapshotsRequest *request = new_list_snapshots_request(&call.arena);
	ListSnapshotsResponse *response = new_list_snapshots_response(&call.arena);

	request->snapshot_id = arena_strdup(&call.arena, id);
	request->source_volume_id = arena_strdup(&call.arena, volume);
	request->max_entries = max_entries;
	request->starting_token = arena_strdup(&call.arena, token);
	return list_snapshots(&call, request, response, &err) < 0 ? NULL : response;
}

/* Add n snapshots, in turn to one volume on each of the three agents. */
static void spread_snapshots(size_t n)
{
	const Dataset *of[N_AGENTS];

	for (size_t i = 0; i < N_AGENTS; i++)
		of[i] = add_dataset(&scripted[i], arena_printf(&call.arena, "v%zu", i), 1, "");
	for (size_t i = 0; i < n; i++)
		add_snapshot(&scripted[i % N_AGENTS], of[i % N_AGENTS],
			     arena_printf(&call.arena, "s%05zu", i));
}

static void snapshots_are_listed_in_pages(void **state)
{
	static const int32_t sizes[] = {0, 2, 999, 1000, 2500};
	char last[64];

	(void)state;
	spread_snapshots(2500);
	for (size_t i = 0; i < COUNT(sizes); i++) {
		const char *token = "";
		size_t seen = 0;
		*last = '\0';
		do {
			ListSnapshotsResponse *page = list_of("", "", sizes[i], token);
			assert_non_null(page);
			for (size_t k = 0; k < page->n_entries; k++) {
				const char *id = page->entries[k]->snapshot->snapshot_id;
				assert_true(strcmp(id, last) > 0);
				snprintf(last, sizeof(last), "%s", id);
			}
			seen += page->n_entries;
			token = page->next_token;
		} while (*token);
		assert_int_equal(seen, 2500);
	}
	/* A list that began with small pages can be finished with one large page. */
	ListSnapshotsResponse *two = list_of("", "", 2, "");
	assert_int_equal(two->n_entries, 2);
	assert_int_equal(list_of("", "", 0, two->next_token)->n_entries, 2498);
}

static void snapshots_are_filtered_by_id_and_volume(void **state)
{
	(void)state;
	spread_snapshots(5);
	assert_int_equal(list_of("", "v0", 0, "")->n_entries, 2);
	assert_int_equal(list_of("", "none", 0, "")->n_entries, 0);
	assert_int_equal(list_of("none", "", 0, "")->n_entries, 0);
	assert_int_equal(list_of("v1@s00001", "v0", 0, "")->n_entries, 0);
	ListSnapshotsResponse *page = list_of("v1@s00001", "v1", 0, "");
	assert_int_equal(page->n_entries, 1);
	assert_string_equal(page->entries[0]->snapshot->snapshot_id, "v1@s00001");
	assert_string_equal(page->entries[0]->snapshot->source_volume_id, "v1");
	assert_string_equal(page->next_token, "");
	assert_int_equal(list_of("v1@s00001", "", 1, "after:v1_40s00001")->n_entries, 0);
}

static void wrong_snapshot_requests_are_refused(void **state)
{
	(void)state;
	assert_null(list_of("", "", 0, "invalid-token"));
	assert_int_equal(err.code, ERR_ABORTED);
	assert_null(list_of("v@s", "", 0, "invalid-token"));
	assert_int_equal(err.code, ERR_ABORTED);
	assert_null(list_of("", "", -1, ""));
	assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
	assert_null(list_of("v@s", "", -1, ""));
	assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
	/* While an agent does not answer, the list cannot be empty: the snapshot may be on that
	 * agent. */
	scripted[2].silent = ERR_UNAVAILABLE;
	assert_null(list_of("v@s", "", 0, ""));
	assert_int_equal(err.code, ERR_UNAVAILABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRIPTED_TEST(volumes_are_listed_in_pages),
		SCRIPTED_TEST(no_volumes_give_an_empty_page),
		SCRIPTED_TEST(an_entry_has_the_volume_and_its_status),
		SCRIPTED_TEST(a_token_outlives_its_volume),
		SCRIPTED_TEST(wrong_requests_are_refused),
		SCRIPTED_TEST(duplicates_are_listed_once),
		SCRIPTED_TEST(every_agent_must_answer),
		SCRIPTED_TEST(problems_show_in_the_condition),
		SCRIPTED_TEST(snapshots_are_listed_in_pages),
		SCRIPTED_TEST(snapshots_are_filtered_by_id_and_volume),
		SCRIPTED_TEST(wrong_snapshot_requests_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
