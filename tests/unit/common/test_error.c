/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of struct error: the code and the text that fail(), fail_errno() and fail_context() store,
 * including texts longer than ERROR_TEXT_MAX.
 */
#include "tests/cmocka.h"

#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "common/mem.h"

static void fail_fills_code_and_text(void **state)
{
	(void)state;
	struct error err;

	assert_int_equal(fail(&err, ERR_NOT_FOUND, "volume '%s' does not exist", "v"), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_string_equal(err.text, "volume 'v' does not exist");
}

static void errno_becomes_a_code(void **state)
{
	(void)state;
	static const struct {
		int number;
		enum error_code code;
	} cases[] = {
		{EINVAL, ERR_INVALID_ARGUMENT},
		{ENOENT, ERR_NOT_FOUND},
		{EEXIST, ERR_ALREADY_EXISTS},
		{EACCES, ERR_PERMISSION_DENIED},
		{EDQUOT, ERR_RESOURCE_EXHAUSTED},
		{EBUSY, ERR_FAILED_PRECONDITION},
		{ETIMEDOUT, ERR_DEADLINE_EXCEEDED},
		{ECONNREFUSED, ERR_UNAVAILABLE},
		{EIO, ERR_INTERNAL},
		{100000, ERR_INTERNAL},
	};
	struct error err;

	for (size_t i = 0; i < COUNT(cases); i++) {
		errno = cases[i].number;
		assert_int_equal(fail_errno(&err, "cannot"), -1);
		assert_int_equal(err.code, cases[i].code);
	}
	errno = ENOENT;
	fail_errno(&err, "cannot open '%s'", "/x");
	assert_string_equal(err.text, "cannot open '/x': No such file or directory");
	errno = 100000;
	fail_errno(&err, "cannot");
	assert_string_equal(err.text, "cannot: unknown error");
}

static void context_goes_before_and_keeps_the_code(void **state)
{
	(void)state;
	struct error err;

	fail(&err, ERR_ABORTED, "busy");
	assert_int_equal(fail_context(&err, "staging '%s'", "v"), -1);
	assert_int_equal(err.code, ERR_ABORTED);
	assert_string_equal(err.text, "staging 'v': busy");
}

static void overlong_texts_are_cut(void **state)
{
	(void)state;
	char text[2 * ERROR_TEXT_MAX];
	struct error err;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	fail(&err, ERR_INTERNAL, "%s", text);
	assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
	errno = EIO;
	fail_errno(&err, "%s", text);
	assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
	fail_context(&err, "%s", text);
	assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
}

static void names_are_the_wire_words(void **state)
{
	(void)state;

	assert_string_equal(error_name(ERR_OK), "OK");
	assert_string_equal(error_name(ERR_UNAUTHENTICATED), "UNAUTHENTICATED");
	assert_string_equal(error_name((enum error_code)17), "UNKNOWN");
	assert_string_equal(error_name((enum error_code) - 1), "UNKNOWN");
	for (unsigned code = 0; code < 17; code++)
		assert_non_null(error_name((enum error_code)code));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fail_fills_code_and_text),
		cmocka_unit_test(errno_becomes_a_code),
		cmocka_unit_test(context_goes_before_and_keeps_the_code),
		cmocka_unit_test(overlong_texts_are_cut),
		cmocka_unit_test(names_are_the_wire_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
