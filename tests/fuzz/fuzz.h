/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_FUZZ_H
#define ZCSI_FUZZ_H

/*
 * A fuzzer is one function: it has our code do what the input says and holds the outcome to what
 * must be true of any. What it allocates it frees; fuzz.c looks after that.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

void fuzz_one(const uint8_t *bytes, size_t n);

#define MUST(condition) ((condition) ? (void)0 : fuzz_broken(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_broken(const char *condition, const char *file, int line);

/* Bytes of memory in use; 0 where nobody counts them. */
size_t fuzz_allocated(void);

/* An error as any must be: a code other than OK, and a text. */
void fuzz_check_error(const struct error *err);

/*
 * The input is used up from both ends: content from the front, decisions from the back, so that
 * neither shifts when a mutation makes the other longer. Beyond the end all bytes are 0.
 */
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

/* At most n bytes; how many is in *ret_n. */
static inline const uint8_t *input_take(struct input *input, size_t n, size_t *ret_n)
{
	const uint8_t *bytes = input->at;

	*ret_n = n < input_left(input) ? n : input_left(input);
	input->at += *ret_n;
	return bytes;
}

#endif
