/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_CMOCKA_H
#define ZCSI_TEST_CMOCKA_H

/* cmocka after the headers that it wants, and without its fail(): ours is in common/error.h. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Skips the test without root, and in `make test`, which needs none. tests/unit/run says how many
 * were skipped.
 */
#define need_root()                                                                                \
	do {                                                                                       \
		if (geteuid() || getenv("ROOTLESS"))                                               \
			skip();                                                                    \
	} while (0)

/* K=words runs only the tests whose names contain the words. */
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
