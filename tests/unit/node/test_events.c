/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the parser of `zpool events -Hfv`: the output of OpenZFS 2.1, and hostile property
 * values in it.
 */
#include "tests/cmocka.h"

#include <string.h>

#include "common/mem.h"
#include "node/zfs/events.h"
#include "tests/arena.h"

#define PARENT "tank/zcsi"
#define HEAD   "Nov 20 2026 12:41:08.107211734\tsysevent.fs.zfs.history_event\n"
#define FIELDS                                                                                     \
	"        version = 0x0\n"                                                                  \
	"        class = \"sysevent.fs.zfs.history_event\"\n"                                      \
	"        pool = \"tank\"\n"                                                                \
	"        pool_guid = 0x5b8ab1c1f8c5ec0c\n"                                                 \
	"        pool_state = 0x0\n"                                                               \
	"        pool_context = 0x0\n"                                                             \
	"        history_hostname = \"lab\"\n"
#define EVENT(dataset, text, verb)                                                                 \
	HEAD FIELDS "        history_dsname = \"" dataset "\"\n"                                   \
		    "        history_internal_str = \"" text "\"\n"                                \
		    "        history_internal_name = \"" verb "\"\n"                               \
		    "        history_dsid = 0x184\n"                                               \
		    "        history_txg = 0x2f\n"                                                 \
		    "        history_time = 0x6a1f\n"                                              \
		    "        time = 0x6a1f 0x663f1d6\n"                                            \
		    "        eid = 0x41\n\n"

/* Returns the names that the lines report as changed, each followed by a blank, or "all " for a
 * change that requires a full scan. Events older than `since` (milliseconds since 1970) are
 * ignored. */
static const char *reported_since(int64_t since, const char *lines)
{
	static char text[4096];
	struct events events = {.parent = PARENT, .since = since};
	auto_free char *rest = mem_strdup(lines);
	char *at = rest, *line;
	struct changed changed;

	*text = '\0';
	while (at && *at && (line = strsep(&at, "\n"))) {
		if (!events_line(&events, line, &changed))
			continue;
		assert_true(changed.all || changed.n);
		if (changed.all)
			strcat(text, "all ");
		for (size_t i = 0; !changed.all && i < changed.n; i++)
			strcat(strcat(text, changed.names[i]), " ");
	}
	return text;
}

#define reports(lines, expected)  assert_string_equal(reported_since(0, lines), expected)

#define reports_of(expected, ...) reports(arena_printf(&arena, __VA_ARGS__), expected)

static void a_change_reports_its_name(void **state)
{
	static const char *const verbs[] = {"create",   "clone",   "snapshot", "destroy",
					    "set",      "inherit", "receive",  "destroy begin",
					    "rollback", "hold",    "release",  "finish receiving",
					    "a new one"};

	(void)state;
	for (size_t i = 0; i < COUNT(verbs); i++)
		reports_of(PARENT "/data ", EVENT(PARENT "/data", " ", "%s"), verbs[i]);
	reports(EVENT(PARENT "/data@s", " ", "snapshot"), PARENT "/data@s ");
	reports(EVENT(PARENT "/_trash/data-12", " ", "destroy"), PARENT "/_trash/data-12 ");
	reports(EVENT(PARENT "/_trash/data-12@s", " ", "destroy"), PARENT "/_trash/data-12@s ");
	reports(EVENT(PARENT "/a", "refquota=10485760", "set")
			EVENT(PARENT "/b", "zcsi:volume=b", "set"),
		PARENT "/a " PARENT "/b ");
}

static void a_rename_reports_both_names(void **state)
{
	(void)state;
	reports(EVENT(PARENT "/a", "-> " PARENT "/b", "rename"), PARENT "/a " PARENT "/b ");
	reports(EVENT(PARENT "/a", "-> tank/other", "rename"), PARENT "/a ");
	reports(EVENT("tank/other", "-> " PARENT "/a", "rename"), PARENT "/a ");
	reports(EVENT(PARENT "/a/b", "-> " PARENT "/c", "rename"), PARENT "/c ");
	reports(EVENT(PARENT "/_trash/a-1", "-> " PARENT "/a", "rename"),
		PARENT "/_trash/a-1 " PARENT "/a ");
	reports(EVENT(PARENT "/a@s", "-> @t", "rename"), PARENT "/a@s " PARENT "/a@t ");
	reports(EVENT("tank/other@s", "-> @t", "rename"), "");
	reports(EVENT(PARENT "/a", "something else", "rename"), "all ");
	reports(EVENT("tank/other", "something else", "rename"), "all ");
}

static void foreign_events_are_ignored(void **state)
{
	(void)state;
	reports(EVENT("tank/other", " ", "create"), "");
	reports(EVENT("tank/zcsi2/a", " ", "create"), "");
	reports(EVENT("tank2/zcsi/a", " ", "promote"), "");
	reports(EVENT("tank/zcs", " ", "destroy"), "");
	reports(EVENT(PARENT "/a/b", " ", "destroy"), "");
	reports(EVENT(PARENT "/a/b@s", " ", "destroy"), "");
	reports(EVENT(PARENT "/a/%recv", " ", "clone swap"), "");
	reports(EVENT(PARENT "@s", " ", "snapshot"), "");
	reports(EVENT("tank@s", " ", "snapshot"), "");
	reports(HEAD FIELDS "        history_internal_str = \"func=1\"\n"
			    "        history_internal_name = \"scan setup\"\n\n",
		"");
	reports("Nov 20 2026 12:41:08.107211734\tsysevent.fs.zfs.config_sync\n" FIELDS "\n", "");
	reports("Nov 20 2026 12:41:08.107211734\tereport.fs.zfs.data\n" FIELDS "\n", "");
	reports("\n\nwhatever\n        history_dsname = \"" PARENT "/a\"\n\n", "");
}

static void changes_above_the_volumes_need_a_scan(void **state)
{
	(void)state;
	reports("Nov 20 2026 12:41:08.107211734\tereport.fs.zfs.io_failure\n" FIELDS "\n", "all ");
	reports(EVENT(PARENT, " ", "create"), "all ");
	reports(EVENT(PARENT, " ", "destroy"), "all ");
	reports(EVENT("tank", "-> x", "rename"), "all ");
	reports(EVENT(PARENT "/_trash", "-> " PARENT "/a", "rename"), "all ");
	reports(EVENT("tank/other", "-> " PARENT, "rename"), "all ");
	reports(EVENT(PARENT, "quota=10485760", "set"), PARENT " ");
	reports(EVENT("tank", "zcsi:volume=a", "inherit"), PARENT " ");
	reports(EVENT(PARENT "/_trash", "canmount=2", "set"), PARENT " ");
	/* The event does not name the dataset whose snapshots were moved by the promotion. */
	reports(EVENT("tank/other", " ", "promote"), "all ");
	reports(EVENT(PARENT "/a", " ", "promote"), "all ");
}

static void pool_events_need_a_scan(void **state)
{
	static const char *const what[] = {"import", "export", "destroy", "create", "reguid"};

	(void)state;
	for (size_t i = 0; i < COUNT(what); i++)
		reports_of("all ",
			   "Nov 20 2026 12:41:08.107211734\tsysevent.fs.zfs.pool_%s\n" FIELDS "\n",
			   what[i]);
	reports("Nov 20 2026 12:41:08.107211734\tsysevent.fs.zfs.pool_import\n"
		"        pool = \"tank2\"\n\n",
		"");
	reports("Nov 20 2026 12:41:08.107211734\tsysevent.fs.zfs.pool_import\n"
		"        pool = \"tan\"\n\n",
		"");
}

static void old_events_are_ignored(void **state)
{
	const char *set = EVENT(PARENT "/a", "x:y=\n        time = 0x0 0x0", "set");
	const char *import = "Nov 20 2026 12:41:08.107211734\tsysevent.fs.zfs.pool_import\n" FIELDS;

	(void)state;
	/* 0x6a1f seconds and 0x663f1d6 nanoseconds */
	assert_string_equal(reported_since(27167107, set), PARENT "/a ");
	assert_string_equal(reported_since(27167108, set), "");
	const char *old = arena_printf(&arena, "%s        time = 0x6a1f 0x663f1d6\n\n", import);
	assert_string_equal(reported_since(27167107, old), "all ");
	assert_string_equal(reported_since(27167108, old), "");
	assert_string_equal(reported_since(27167108, arena_printf(&arena, "%s\n", import)), "all ");
	assert_string_equal(reported_since(27167108, "dropped 3 events\n"), "all ");
}

static void lost_events_need_a_scan(void **state)
{
	(void)state;
	reports("dropped 3 events\n", "all ");
	reports("dropped 1 events\n" EVENT(PARENT "/a", " ", "create"), "all " PARENT "/a ");
	/* the event is cut off, or has a dataset but no operation */
	reports(HEAD FIELDS EVENT(PARENT "/a", " ", "create"), "all " PARENT "/a ");
	reports(HEAD FIELDS "        history_dsname = \"" PARENT "/a\"\n\n", "all ");
	reports(HEAD FIELDS "        history_dsname = \"tank2/a\"\n\n", "");
}

/* A user property may have any value, and zpool prints it without escapes. */
static void property_values_are_not_read_as_fields(void **state)
{
	(void)state;
	reports(EVENT(PARENT "/a", "x:y=one\ntwo", "set"), PARENT "/a ");
	reports(EVENT(PARENT "/a", "x:y=\"\n        history_dsname = \"tank/other", "set"),
		PARENT "/a ");
	reports(EVENT(PARENT "/a", "x:y=\"\n        history_internal_name = \"hold", "set"),
		PARENT "/a ");
	reports(EVENT(PARENT "/a", "x:y=\ndropped 3 events", "set"), "all " PARENT "/a ");
	reports(EVENT(PARENT "/a", "x:y=\n\n", "set"), "all ");
	reports(EVENT(PARENT "/a", "x:y=\n" HEAD, "set"), "all ");
	reports(EVENT(PARENT "/a", "x:y=\n\n" HEAD "        history_dsname = \"tank/other", "set"),
		"all ");
}

static void overlong_fields_are_bounded(void **state)
{
	char name[2000];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	reports_of(PARENT "/a ", EVENT(PARENT "/a", "x:y=%s", "set"), name);
	reports_of("all ", EVENT(PARENT "/a", " ", "%s"), name);
	reports_of("all ", EVENT(PARENT "/a", "-> " PARENT "/%s", "rename"), name);
	reports_of("", EVENT("%s", "x:y=z", "set"), name);
	/* the longest name that ZFS allows */
	name[DATASET_NAME_MAX - strlen(PARENT "/")] = '\0';
	const char *both = arena_printf(&arena, PARENT "/%s " PARENT "/%s ", name, name);
	reports_of(both, EVENT(PARENT "/%s", "-> " PARENT "/%s", "rename"), name, name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_reports_its_name),
		cmocka_unit_test(a_rename_reports_both_names),
		cmocka_unit_test(foreign_events_are_ignored),
		cmocka_unit_test(changes_above_the_volumes_need_a_scan),
		cmocka_unit_test(pool_events_need_a_scan),
		cmocka_unit_test(old_events_are_ignored),
		cmocka_unit_test(lost_events_need_a_scan),
		cmocka_unit_test(property_values_are_not_read_as_fields),
		cmocka_unit_test(overlong_fields_are_bounded),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
