/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The code that all fuzzers share: the entry point that libFuzzer and replay.c call, and the end of
 * the program after a finding.
 *
 * Invariant: an input leaks no memory. If a sanitizer counts allocations, growth is a finding only
 * if the same input makes them grow again, because its first run may set something up.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
__attribute__((weak)) size_t __sanitizer_get_current_allocated_bytes(void);

_Noreturn void fuzz_broken(const char *condition, const char *file, int line)
{
	fprintf(stderr, "%s:%d: must be true: %s\n", file, line, condition);
	abort();
}

void fuzz_check_error(const struct error *err)
{
	MUST(err->code > ERR_OK && err->code <= ERR_UNAUTHENTICATED);
	MUST(err->text[0] != '\0');
}

size_t fuzz_allocated(void)
{
	return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes()
						       : 0;
}

static bool grows(const uint8_t *bytes, size_t n)
{
	size_t before = fuzz_allocated();

	fuzz_one(bytes, n);
	return fuzz_allocated() > before;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	unsigned times = 0;

	while (times < 3 && grows(bytes, n))
		times++;
	MUST(times < 3);
	return 0;
}
