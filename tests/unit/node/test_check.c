/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of the bugs that --check reports of versions of OpenZFS. */
#include "tests/cmocka.h"

#include <string.h>

#include "common/mem.h"
#include "node/check/check.h"

static void bugs_that_copies_meet_are_reported(void **state)
{
	static const struct {
		const char *version;
		bool receive, mount; /* true if this version has that bug */
	} rows[] = {
		{"0.8.3-1ubuntu12", true, true}, {"2.0.7", true, true},
		{"2.1.10", true, true},          {"2.1.11-1+deb12u1", true, false},
		{"2.1.12", true, false},         {"2.1.13", false, false},
		{"2.2.0-rc3", false, false},     {"2.3.2-2~bpo12+2", false, false},
		{"3.0.0", false, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *text = check_version_bugs(BUGS_OF_COPIES, rows[i].version);
		assert_int_equal(text && strstr(text, "#15039"), rows[i].receive);
		assert_int_equal(text && strstr(text, "#12594"), rows[i].mount);
		if (text)
			assert_non_null(strstr(text, "install OpenZFS 2.1.13 or later"));
	}
}

static void bugs_of_sends_and_of_files_are_reported(void **state)
{
	static const struct {
		const char *version;
		bool sends, files; /* true if this version has that bug */
	} rows[] = {
		{"0.8.6", false, false},
		{"2.0.0", true, false},
		{"2.0.7-1", true, false},
		{"2.1.3", true, false},
		{"2.1.4", true, true},
		{"2.1.11-1", true, true},
		{"2.1.11-1+deb12u1", true, false},
		{"2.1.13", true, true},
		{"2.1.14", true, false},
		{"2.1.16", true, false},
		{"2.2.0-rc3", true, true},
		{"2.2.1", true, true},
		{"2.2.2", true, false},
		{"2.2.7", true, false},
		{"2.2.8", false, false},
		{"2.2.99", false, false},
		{"2.3.0", true, false},
		{"2.3.2-2~bpo12+2", true, false},
		{"2.3.3", false, false},
		{"2.4.0-rc1", false, false},
		{"3.0.0", false, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *sends = check_version_bugs(BUGS_OF_SENDS, rows[i].version);
		const char *files = check_version_bugs(BUGS_OF_FILES, rows[i].version);
		assert_int_equal(sends && strstr(sends, "#12014"), rows[i].sends);
		assert_int_equal(files && strstr(files, "#15526"), rows[i].files);
		assert_true(!sends || strstr(sends, "2.2.8, 2.3.3 or later"));
		assert_true(!files || strstr(files, "2.1.14, 2.2.2 or later"));
	}
}

static void other_texts_have_no_bugs(void **state)
{
	static const char *const texts[] = {"", "of the kernel", "2.1", "zfs-2.1.11"};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		for (enum bugs_of thing = BUGS_OF_COPIES; thing <= BUGS_OF_FILES; thing++)
			assert_null(check_version_bugs(thing, texts[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bugs_that_copies_meet_are_reported),
		cmocka_unit_test(bugs_of_sends_and_of_files_are_reported),
		cmocka_unit_test(other_texts_have_no_bugs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
