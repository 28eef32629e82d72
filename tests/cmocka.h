/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_CMOCKA_H
#define ZCSI_TEST_CMOCKA_H

/* cmocka.h with the headers that it requires, and without its macro fail(), which collides with the
 * function fail() of common/error.h, and fail_msg(), which would call that function. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail
#undef fail_msg

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Skip the test if not root, or in `make test` (ROOTLESS), which must not need root. tests/unit/run
 * counts the skipped tests. */
#define need_root()                                                                                \
	do {                                                                                       \
		if (geteuid() || getenv("ROOTLESS"))                                               \
			skip();                                                                    \
	} while (0)

/* Select the tests whose names contain the words in the environment variable K. */
__attribute__((constructor)) static void pick_tests(void)
{
	static char pattern[256];
	const char *words = getenv("K");

	if (!words || !*words)
		return;
	snprintf(pattern, sizeof(pattern), "*%s*", words);
	cmocka_set_test_filter(pattern);
}

#endif
