/* SPDX-License-Identifier: MPL-2.0 */
/* What `zpool events -Hfv` prints, as OpenZFS 2.1 printed it, and what it must not be misled by. */
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

/* What the lines tell: names, each followed by a blank, or "all". */
static const char *told_since(int64_t since, const char *lines)
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

#define tells(lines, expected)  assert_string_equal(told_since(0, lines), expected)

#define tells_of(expected, ...) tells(arena_printf(&arena, __VA_ARGS__), expected)

static void a_change_tells_its_name(void **state)
{
	static const char *const verbs[] = {"create",   "clone",   "snapshot", "destroy",
					    "set",      "inherit", "receive",  "destroy begin",
					    "rollback", "hold",    "release",  "finish receiving",
					    "a new one"};

	(void)state;
	for (size_t i = 0; i < COUNT(verbs); i++)
		tells_of(PARENT "/data ", EVENT(PARENT "/data", " ", "%s"), verbs[i]);
	tells(EVENT(PARENT "/data@s", " ", "snapshot"), PARENT "/data@s ");
	tells(EVENT(PARENT "/_trash/data-12", " ", "destroy"), PARENT "/_trash/data-12 ");
	tells(EVENT(PARENT "/_trash/data-12@s", " ", "destroy"), PARENT "/_trash/data-12@s ");
	tells(EVENT(PARENT "/a", "refquota=10485760", "set")
		      EVENT(PARENT "/b", "zcsi:volume=b", "set"),
	      PARENT "/a " PARENT "/b ");
}

static void a_rename_tells_both_names(void **state)
{
	(void)state;
	tells(EVENT(PARENT "/a", "-> " PARENT "/b", "rename"), PARENT "/a " PARENT "/b ");
	tells(EVENT(PARENT "/a", "-> tank/other", "rename"), PARENT "/a ");
	tells(EVENT("tank/other", "-> " PARENT "/a", "rename"), PARENT "/a ");
	tells(EVENT(PARENT "/a/b", "-> " PARENT "/c", "rename"), PARENT "/c ");
	tells(EVENT(PARENT "/_trash/a-1", "-> " PARENT "/a", "rename"),
	      PARENT "/_trash/a-1 " PARENT "/a ");
	tells(EVENT(PARENT "/a@s", "-> @t", "rename"), PARENT "/a@s " PARENT "/a@t ");
	tells(EVENT("tank/other@s", "-> @t", "rename"), "");
	tells(EVENT(PARENT "/a", "something else", "rename"), "all ");
	tells(EVENT("tank/other", "something else", "rename"), "all ");
}

static void what_is_not_ours_is_no_news(void **state)
{
	(void)state;
	tells(EVENT("tank/other", " ", "create"), "");
	tells(EVENT("tank/zcsi2/a", " ", "create"), "");
	tells(EVENT("tank2/zcsi/a", " ", "promote"), "");
	tells(EVENT("tank/zcs", " ", "destroy"), "");
	tells(EVENT(PARENT "/a/b", " ", "destroy"), "");
	tells(EVENT(PARENT "/a/b@s", " ", "destroy"), "");
	tells(EVENT(PARENT "/a/%recv", " ", "clone swap"), "");
	tells(EVENT(PARENT "@s", " ", "snapshot"), "");
	tells(EVENT("tank@s", " ", "snapshot"), "");
	tells(HEAD FIELDS "        history_internal_str = \"func=1\"\n"
			  "        history_internal_name = \"scan setup\"\n\n",
	      "");
	tells("Nov 20 2026 12:41:08.107211734\tsysevent.fs.zfs.config_sync\n" FIELDS "\n", "");
	tells("Nov 20 2026 12:41:08.107211734\tereport.fs.zfs.data\n" FIELDS "\n", "");
	tells("\n\nwhatever\n        history_dsname = \"" PARENT "/a\"\n\n", "");
}

static void what_holds_many_is_all(void **state)
{
	(void)state;
	tells("Nov 20 2026 12:41:08.107211734\tereport.fs.zfs.io_failure\n" FIELDS "\n", "all ");
	tells(EVENT(PARENT, " ", "create"), "all ");
	tells(EVENT(PARENT, " ", "destroy"), "all ");
	tells(EVENT("tank", "-> x", "rename"), "all ");
	tells(EVENT(PARENT "/_trash", "-> " PARENT "/a", "rename"), "all ");
	tells(EVENT("tank/other", "-> " PARENT, "rename"), "all ");
	tells(EVENT(PARENT, "quota=10485760", "set"), PARENT " ");
	tells(EVENT("tank", "zcsi:volume=a", "inherit"), PARENT " ");
	tells(EVENT(PARENT "/_trash", "canmount=2", "set"), PARENT " ");
	/* Whose snapshots it took is not told. */
	tells(EVENT("tank/other", " ", "promote"), "all ");
	tells(EVENT(PARENT "/a", " ", "promote"), "all ");
}

static void a_pool_that_comes_or_goes_is_all(void **state)
{
	static const char *const what[] = {"import", "export", "destroy", "create", "reguid"};

	(void)state;
	for (size_t i = 0; i < COUNT(what); i++)
		tells_of("all ",
			 "Nov 20 2026 12:41:08.107211734\tsysevent.fs.zfs.pool_%s\n" FIELDS "\n",
			 what[i]);
	tells("Nov 20 2026 12:41:08.107211734\tsysevent.fs.zfs.pool_import\n"
	      "        pool = \"tank2\"\n\n",
	      "");
	tells("Nov 20 2026 12:41:08.107211734\tsysevent.fs.zfs.pool_import\n"
	      "        pool = \"tan\"\n\n",
	      "");
}

static void what_is_old_is_no_news(void **state)
{
	const char *set = EVENT(PARENT "/a", "x:y=\n        time = 0x0 0x0", "set");
	const char *import = "Nov 20 2026 12:41:08.107211734\tsysevent.fs.zfs.pool_import\n" FIELDS;

	(void)state;
	/* 0x6a1f seconds and 0x663f1d6 nanoseconds */
	assert_string_equal(told_since(27167107, set), PARENT "/a ");
	assert_string_equal(told_since(27167108, set), "");
	const char *old = arena_printf(&arena, "%s        time = 0x6a1f 0x663f1d6\n\n", import);
	assert_string_equal(told_since(27167107, old), "all ");
	assert_string_equal(told_since(27167108, old), "");
	assert_string_equal(told_since(27167108, arena_printf(&arena, "%s\n", import)), "all ");
	assert_string_equal(told_since(27167108, "dropped 3 events\n"), "all ");
}

static void what_was_lost_is_all(void **state)
{
	(void)state;
	tells("dropped 3 events\n", "all ");
	tells("dropped 1 events\n" EVENT(PARENT "/a", " ", "create"), "all " PARENT "/a ");
	/* An event without its end, and one without what became of the name. */
	tells(HEAD FIELDS EVENT(PARENT "/a", " ", "create"), "all " PARENT "/a ");
	tells(HEAD FIELDS "        history_dsname = \"" PARENT "/a\"\n\n", "all ");
	tells(HEAD FIELDS "        history_dsname = \"tank2/a\"\n\n", "");
}

/* A user property may have any value, and it is printed as it is. */
static void a_value_misleads_nobody(void **state)
{
	(void)state;
	tells(EVENT(PARENT "/a", "x:y=one\ntwo", "set"), PARENT "/a ");
	tells(EVENT(PARENT "/a", "x:y=\"\n        history_dsname = \"tank/other", "set"),
	      PARENT "/a ");
	tells(EVENT(PARENT "/a", "x:y=\"\n        history_internal_name = \"hold", "set"),
	      PARENT "/a ");
	tells(EVENT(PARENT "/a", "x:y=\ndropped 3 events", "set"), "all " PARENT "/a ");
	tells(EVENT(PARENT "/a", "x:y=\n\n", "set"), "all ");
	tells(EVENT(PARENT "/a", "x:y=\n" HEAD, "set"), "all ");
	tells(EVENT(PARENT "/a", "x:y=\n\n" HEAD "        history_dsname = \"tank/other", "set"),
	      "all ");
}

static void nothing_is_too_long(void **state)
{
	char name[2000];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	tells_of(PARENT "/a ", EVENT(PARENT "/a", "x:y=%s", "set"), name);
	tells_of("all ", EVENT(PARENT "/a", " ", "%s"), name);
	tells_of("all ", EVENT(PARENT "/a", "-> " PARENT "/%s", "rename"), name);
	tells_of("", EVENT("%s", "x:y=z", "set"), name);
	/* The longest that ZFS allows. */
	name[DATASET_NAME_MAX - strlen(PARENT "/")] = '\0';
	const char *both = arena_printf(&arena, PARENT "/%s " PARENT "/%s ", name, name);
	tells_of(both, EVENT(PARENT "/%s", "-> " PARENT "/%s", "rename"), name, name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_tells_its_name),
		cmocka_unit_test(a_rename_tells_both_names),
		cmocka_unit_test(what_is_not_ours_is_no_news),
		cmocka_unit_test(what_holds_many_is_all),
		cmocka_unit_test(a_pool_that_comes_or_goes_is_all),
		cmocka_unit_test(what_is_old_is_no_news),
		cmocka_unit_test(what_was_lost_is_all),
		cmocka_unit_test(a_value_misleads_nobody),
		cmocka_unit_test(nothing_is_too_long),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
