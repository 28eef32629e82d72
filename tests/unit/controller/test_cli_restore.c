/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of zcsi restore: what the agent is asked to make, and when the command refuses. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_cli.c"

static struct client *const a = &scripted[0], *const b = &scripted[1];

static int begin(void **state)
{
	int result = cli_begin(state);
	Dataset *volume = add_dataset(a, "data", 1 << 30,
				      "attach=local\nprovisioning=thick\nzfs.compression=lz4\n"
				      "zfs.user.nomad:host-volume=8a4b\n");

	add_snapshot(a, volume, "monday");
	volume->size *= 2;
	cli.as = "new";
	return result;
}

static void assert_refused(enum error_code code, const char *word)
{
	int result;

	printed(cli_restore, "data@monday", &result);
	assert_failed(result, code, word);
	assert_int_equal(a->created, 0);
}

/* Returns the value of a property in the request, or NULL. */
static const char *property_of(const CreateDatasetRequest *request, const char *name)
{
	for (size_t i = 0; i < request->n_properties; i++)
		if (strcmp(request->properties[i]->name, name) == 0)
			return request->properties[i]->value;
	return NULL;
}

static void a_clone_has_the_parameters_of_its_source(void **state)
{
	int result;

	(void)state;
	const char *text = printed(cli_restore, "data@monday", &result);
	const CreateDatasetRequest *request = a->create_request;
	assert_int_equal(result, 0);
	assert_string_equal(text, "volume\tnew\n"
				  "node\ta\n"
				  "size\t1.00G\n"
				  "made_from\tdata@monday\n"
				  "state\tdepends on the snapshot until 'zcsi detach new'\n");
	assert_int_equal(a->created, 1);
	assert_string_equal(request->id, "new");
	assert_string_equal(request->source_snapshot, "data@monday");
	assert_string_equal(request->format, "zfs");
	assert_int_equal(request->size, 1 << 30);
	assert_int_equal(request->claim, a->promised);
	assert_int_equal(request->claim, b->promised);
	assert_non_null(strstr(request->parameters, "zfs.compression=lz4\n"));
	assert_string_equal(property_of(request, "compression"), "lz4");
	/* The new volume is not the host volume that Nomad knows by this id. */
	assert_null(strstr(request->parameters, "nomad:host-volume"));
	assert_null(property_of(request, "nomad:host-volume"));
	assert_string_equal(property_of(request, "refreservation"), "1073741824");
}

static void a_lost_claim_is_taken_again(void **state)
{
	int result;

	(void)state;
	a->n_aborts = 2;
	printed(cli_restore, "data@monday", &result);
	assert_int_equal(result, 0);
	assert_int_equal(a->created, 1);
}

static void without_a_name_the_rollback_is_named(void **state)
{
	(void)state;
	cli.as = NULL;
	assert_refused(ERR_INVALID_ARGUMENT, "run 'zcsi rollback data data@monday'");
	assert_non_null(strstr(err.text, "--as NAME"));
}

static void a_name_that_is_not_free_is_refused(void **state)
{
	(void)state;
	cli.as = "data";
	assert_refused(ERR_ALREADY_EXISTS, "exists on node 'a'");
	cli.as = "new";
	add_snapshot(b, add_dataset(b, "new", 1, ""), "s");
	b->n_datasets = 0;
	assert_refused(ERR_ALREADY_EXISTS, "snapshot 'new@s'");
	b->n_snapshots = 0;
	b->silent = ERR_UNAVAILABLE;
	assert_refused(ERR_UNAVAILABLE, "all agents must answer");
	cli.as = "a\ab";
	b->silent = ERR_OK;
	assert_refused(ERR_INVALID_ARGUMENT, "--as");
}

static void a_source_that_is_gone_is_named(void **state)
{
	(void)state;
	a->n_datasets = 0;
	assert_refused(ERR_FAILED_PRECONDITION, "run 'zcsi trash restore data' first");
	a->n_snapshots = 0;
	assert_refused(ERR_NOT_FOUND, "'zcsi snapshots' prints");
}

#define RESTORE_TEST(name) cmocka_unit_test_setup_teardown(name, begin, cli_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RESTORE_TEST(a_clone_has_the_parameters_of_its_source),
		RESTORE_TEST(a_lost_claim_is_taken_again),
		RESTORE_TEST(without_a_name_the_rollback_is_named),
		RESTORE_TEST(a_name_that_is_not_free_is_refused),
		RESTORE_TEST(a_source_that_is_gone_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
