/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of zcsi diverged: the choice among the things that nodes have put aside, and the programs
 * that mount one of them, which the test only records. Nodes a and b have put something aside.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_cli.c"

#include <inttypes.h>
#include <stdlib.h>

#include "common/exec.h"
#include "controller/cli/failover/aside.h"
#include "controller/cli/here/here.h"
#include "controller/cli/stream/send.h"
#include "proto/copy.h"

#define ASIDE "pool-a/csi/_diverged/"
#define MOUNT "mount --no-canonicalize -t "

static DivergedVolume *rows[N_AGENTS][3];
static size_t n_rows[N_AGENTS];
static const char *runs;       /* command lines of the programs that were run */
static const char *properties; /* output of zfs get for several properties */
static const char *failing;    /* words of the program that fails; NULL: none fails */
static uint64_t here;          /* guid that zfs get prints for a dataset of this host */
static bool has_device;        /* true: zvols have their devices at once; else never */
static char folder[32];        /* path of an empty folder */

typeof(fleet_ask) __real_fleet_ask, __wrap_fleet_ask;

struct reply *__wrap_fleet_ask(struct fleet *fleet, struct arena *arena, const char *method,
			       const ProtobufCMessage *request)
{
	if (strcmp(method, "ListDiverged") != 0)
		return __real_fleet_ask(fleet, arena, method, request);
	struct reply *replies = arena_alloc(arena, N_AGENTS * sizeof(*replies));
	for (size_t i = 0; i < N_AGENTS; i++) {
		ListDivergedResponse *response = new_list_diverged_response(arena);
		response->volumes = rows[i];
		response->n_volumes = n_rows[i];
		replies[i].response = response;
	}
	return replies;
}

typeof(exec_run) __wrap_exec_run;

int __wrap_exec_run(const struct exec *exec, struct exec_result *ret, struct error *why)
{
	const char *line = exec->argv[0];

	(void)why;
	for (size_t i = 1; exec->argv[i]; i++)
		line = arena_printf(&cli.arena, "%s %s", line, exec->argv[i]);
	const bool guid = strstr(line, "get -Hp -o value guid "), get = strstr(line, "zfs get ");
	const bool fails = failing && strstr(line, failing);
	if (!get)
		runs = arena_printf(&cli.arena, "%s%s\n", runs, line);
	*ret = (struct exec_result){
		.status = fails,
		.out = mem_strdup(guid ? arena_printf(&cli.arena, "%" PRIu64 "\n", here)
				       : properties),
		.error = mem_strdup(fails ? "it fails" : "")};
	return 0;
}

static void put_aside(size_t agent, const char *id, const char *name, const char *format)
{
	DivergedVolume *row = new_diverged_volume(&cli.arena);

	row->id = arena_strdup(&cli.arena, id);
	row->name = arena_strdup(&cli.arena, name);
	row->format = arena_strdup(&cli.arena, format);
	row->guid = 7 + agent;
	rows[agent][n_rows[agent]++] = row;
}

/* Replaces the wait for udev. */
typeof(here_wait) __wrap_here_wait;

int __wrap_here_wait(const char *path, struct error *why)
{
	return has_device ? 0 : fail(why, ERR_UNAVAILABLE, "'%s' is not there", path);
}

static const char *asked; /* node and name of the last diff that was requested, or NULL */

typeof(send_to_stdout) __wrap_send_to_stdout;

int __wrap_send_to_stdout(struct cli *with, const struct member *from,
			  const struct download *download, struct error *why)
{
	const DiffDivergedRequest *request = (const DiffDivergedRequest *)download->request;

	(void)why;
	assert_string_equal(download->method, "DiffDiverged");
	assert_true(download->text);
	asked = arena_printf(&with->arena, "%s %s", from->node, request->name);
	return 0;
}

static int begin(void **state)
{
	int result = cli_begin(state);

	snprintf(folder, sizeof(folder), "/tmp/zcsi-XXXXXX");
	assert_non_null(mkdtemp(folder));
	has_device = false;
	memset(n_rows, 0, sizeof(n_rows));
	runs = "";
	asked = NULL;
	properties = "-\n-\nnone\n";
	failing = NULL;
	here = 7;
	return result;
}

static int end(void **state)
{
	assert_int_equal(rmdir(folder), 0);
	return cli_end(state);
}

static const char *words[4]; /* words after "zcsi diverged" */
static size_t n_words;

static int run(struct cli *with, struct error *why)
{
	with->args = words;
	with->n_args = n_words;
	return cli_diverged(with, why);
}

/* Run zcsi diverged with these words. Returns the command's result; *ret_text, if given, is its
 * output. */
static int type_words(const char *const *typed, const char **ret_text)
{
	int result;

	for (n_words = 0; typed[n_words]; n_words++)
		words[n_words] = typed[n_words];
	err = (struct error){0};
	const char *text = printed(run, NULL, &result);
	if (ret_text)
		*ret_text = text;
	return result;
}

#define type(...) type_words((const char *const[]){__VA_ARGS__, NULL}, NULL)

/* Assert that mounting `name` succeeds, that it runs the programs `with`, and prints `said`. */
static void assert_mounted(const char *name, const char *with, const char *said)
{
	const char *const typed[] = {"mount", name, folder, NULL};
	const char *text;

	runs = "";
	assert_int_equal(type_words(typed, &text), 0);
	assert_string_equal(runs, with);
	assert_string_equal(text, said);
}

static void a_filesystem_is_mounted_by_its_name_or_that_of_its_volume(void **state)
{
	const char *with = arena_printf(&cli.arena, MOUNT "zfs -o ro " ASIDE "v-4 %s\n", folder);
	const char *said = arena_printf(
		&cli.arena, "it is mounted read-only; at the end run\numount %s\n", folder);

	(void)state;
	put_aside(0, "v", "v-4", "zfs");
	put_aside(1, "w", "w-1", "zfs");
	assert_mounted("v-4", with, said);
	assert_mounted("v", with, said);
}

static void a_zvol_gets_a_device_and_no_log_is_replayed(void **state)
{
	const char *show = "zfs set volmode=full " ASIDE;

	(void)state;
	put_aside(0, "e", "e-1", "ext4");
	put_aside(0, "x", "x-1", "xfs");
	assert_int_equal(type("mount", "e", folder), -1); /* the zvol has no device */
	assert_non_null(strstr(err.text, "/dev/zvol/" ASIDE "e-1"));
	assert_string_equal(runs, arena_printf(&cli.arena,
					       "%se-1\nzfs inherit volmode " ASIDE "e-1\n", show));
	has_device = true;
	assert_mounted("e",
		       arena_printf(&cli.arena,
				    "%se-1\n" MOUNT "ext4 -o ro,noload /dev/zvol/" ASIDE "e-1 %s\n",
				    show, folder),
		       arena_printf(&cli.arena,
				    "it is mounted read-only; at the end run\numount %s\n"
				    "zfs inherit volmode " ASIDE "e-1\n",
				    folder));
	properties = "-\n-\nfull\n";
	assert_mounted("x",
		       arena_printf(&cli.arena,
				    MOUNT "xfs -o ro,norecovery,nouuid /dev/zvol/" ASIDE "x-1 %s\n",
				    folder),
		       arena_printf(&cli.arena,
				    "it is mounted read-only; at the end run\numount %s\n"
				    "zfs inherit volmode " ASIDE "x-1\n",
				    folder));
}

static void a_device_that_is_not_mounted_is_taken_away(void **state)
{
	(void)state;
	put_aside(0, "e", "e-1", "ext4");
	has_device = true;
	failing = MOUNT;
	assert_failed(type("mount", "e", folder), ERR_FAILED_PRECONDITION, "is not mounted at");
	assert_non_null(strstr(runs, "\nzfs inherit volmode " ASIDE "e-1\n"));
	runs = "";
	properties = "-\n-\nfull\n";
	assert_failed(type("mount", "e", folder), ERR_FAILED_PRECONDITION, "is not mounted at");
	assert_null(strstr(runs, "inherit"));
}

static void a_block_volume_has_no_files(void **state)
{
	(void)state;
	put_aside(0, "b", "b-1", "block");
	assert_failed(type("mount", "b", folder), ERR_FAILED_PRECONDITION,
		      "'zfs set volmode=full " ASIDE "b-1' makes /dev/zvol/" ASIDE "b-1");
	assert_string_equal(runs, "");
}

static void an_encrypted_one_needs_its_key(void **state)
{
	const char *text;

	(void)state;
	put_aside(0, "v", "v-4", "zfs");
	properties = "pool-a/csi/_replica/v\nunavailable\n-\n";
	assert_failed(type("mount", "v", folder), ERR_FAILED_PRECONDITION,
		      "'zfs load-key pool-a/csi/_replica/v'");
	assert_string_equal(runs, "");
	properties = "pool-a/csi/_replica/v\navailable\n-\n";
	const char *const typed[] = {"mount", "v", folder, NULL};
	assert_int_equal(type_words(typed, &text), 0);
	assert_non_null(strstr(text, "\nzfs unload-key pool-a/csi/_replica/v\n"));
}

static void what_is_on_another_host_is_not_mounted(void **state)
{
	(void)state;
	put_aside(0, "v", "v-4", "zfs");
	here = 8;
	assert_failed(type("mount", "v", folder), ERR_FAILED_PRECONDITION, "host of node 'a'");
	rows[0][0]->guid = here = 0;
	assert_failed(type("mount", "v", folder), ERR_FAILED_PRECONDITION, "earlier version");
	assert_string_equal(runs, "");
}

static void of_several_none_is_chosen(void **state)
{
	(void)state;
	put_aside(0, "v", "v-4", "zfs");
	put_aside(0, "v", "v-6", "zfs");
	put_aside(1, "v", "v-6", "zfs");
	assert_failed(type("mount", "v", folder), ERR_FAILED_PRECONDITION,
		      "'zcsi diverged list v'");
	assert_failed(type("mount", "v-6", folder), ERR_FAILED_PRECONDITION, "add --node NODE");
	assert_failed(type("mount", "none", folder), ERR_NOT_FOUND, "zcsi diverged list");
	assert_string_equal(runs, "");
	cli.node = "a";
	assert_int_equal(type("mount", "v-6", folder), 0);
	assert_failed(type("mount", "v", folder), ERR_FAILED_PRECONDITION, "several of volume");
	cli.node = "c";
	assert_failed(type("mount", "v-6", folder), ERR_NOT_FOUND, "zcsi diverged list");
}

static void a_diff_is_made_by_the_node(void **state)
{
	(void)state;
	put_aside(0, "v", "v-4", "zfs");
	put_aside(1, "w", "w-1", "zfs");
	assert_int_equal(type("diff", "w"), 0);
	assert_string_equal(asked, "b w-1");
	assert_int_equal(type("diff", "v-4"), 0);
	assert_string_equal(asked, "a v-4");
	asked = NULL;
	assert_failed(type("diff", "none"), ERR_NOT_FOUND, "zcsi diverged list");
	assert_failed(type("diff"), ERR_INVALID_ARGUMENT, "zcsi diverged diff NAME");
	assert_null(asked);
}

/* zcsi diverged drop takes only a name as zcsi diverged list shows it, not the id of a volume. */
static void a_volume_is_not_the_name_of_what_is_dropped(void **state)
{
	(void)state;
	put_aside(0, "v", "v-4", "zfs");
	assert_failed(type("drop", "v"), ERR_NOT_FOUND, "zcsi diverged list");
	cli.dry_run = true;
	assert_int_equal(type("drop", "v-4"), 0);
}

static void wrong_words_are_refused(void **state)
{
	(void)state;
	put_aside(0, "v", "v-4", "zfs");
	assert_failed(type("mount", "v"), ERR_INVALID_ARGUMENT, "zcsi diverged mount NAME DIR");
	assert_failed(type("drop", "v-4", "too"), ERR_INVALID_ARGUMENT, "zcsi diverged drop");
	assert_failed(type("list", "v", "too"), ERR_INVALID_ARGUMENT, "zcsi diverged list");
	assert_failed(type("mount", "v", "/nonexistent"), ERR_NOT_FOUND, "'/nonexistent'");
	assert_string_equal(runs, "");
}

#define DIVERGED_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIVERGED_TEST(a_filesystem_is_mounted_by_its_name_or_that_of_its_volume),
		DIVERGED_TEST(a_zvol_gets_a_device_and_no_log_is_replayed),
		DIVERGED_TEST(a_device_that_is_not_mounted_is_taken_away),
		DIVERGED_TEST(a_block_volume_has_no_files),
		DIVERGED_TEST(an_encrypted_one_needs_its_key),
		DIVERGED_TEST(what_is_on_another_host_is_not_mounted),
		DIVERGED_TEST(of_several_none_is_chosen),
		DIVERGED_TEST(a_diff_is_made_by_the_node),
		DIVERGED_TEST(a_volume_is_not_the_name_of_what_is_dropped),
		DIVERGED_TEST(wrong_words_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
