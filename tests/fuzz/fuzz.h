/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_FUZZ_H
#define ZCSI_FUZZ_H

/* A fuzzer is one function: it runs the code under test as the input says, and checks what must be
 * true of every result. It frees what it allocates; fuzz.c checks that. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

void fuzz_one(const uint8_t *bytes, size_t n);

#define MUST(condition) ((condition) ? (void)0 : fuzz_broken(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_broken(const char *condition, const char *file, int line);

/* Returns the bytes of allocated memory; 0 without a sanitizer that counts them. */
size_t fuzz_allocated(void);

/* Check that an error has a code other than OK, and a text. */
void fuzz_check_error(const struct error *err);

/* The input is consumed from both ends, content from the front and decisions from the back, so that
 * a mutation of one does not shift the other. Beyond the end all decisions are 0. */
struct input {
	const uint8_t *at, *end;
};

static inline struct input input_of(const uint8_t *bytes, size_t n)
{
	return (struct input){bytes, bytes + n};
}

static inline size_t input_left(const struct input *input)
{
	return (size_t)(input->end - input->at);
}

static inline uint8_t input_decision(struct input *input)
{
	return input_left(input) ? *--input->end : 0;
}

/* Returns the next bytes of content, at most n; *ret_n is their number. */
static inline const uint8_t *input_take(struct input *input, size_t n, size_t *ret_n)
{
	const uint8_t *bytes = input->at;

	*ret_n = n < input_left(input) ? n : input_left(input);
	input->at += *ret_n;
	return bytes;
}

#endif
