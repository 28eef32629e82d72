/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_ERROR_H
#define ZCSI_ERROR_H

/*
 * The error convention. A function that can fail returns 0 (or a descriptor, or a count) on success
 * and -1 after filling *err; err is its last argument and is never NULL. Failing is one statement:
 *
 *	return fail(err, ERR_NOT_FOUND, "volume '%s' does not exist", id);
 *
 * The text reaches the user of the command: it contains the object in quotes, the cause, and the
 * remedy.
 */

/* The status codes of gRPC, with its numbers (gRPC doc/statuscodes.md). */
enum error_code {
	ERR_OK = 0,
	ERR_CANCELLED = 1,
	ERR_UNKNOWN = 2,
	ERR_INVALID_ARGUMENT = 3,
	ERR_DEADLINE_EXCEEDED = 4,
	ERR_NOT_FOUND = 5,
	ERR_ALREADY_EXISTS = 6,
	ERR_PERMISSION_DENIED = 7,
	ERR_RESOURCE_EXHAUSTED = 8,
	ERR_FAILED_PRECONDITION = 9,
	ERR_ABORTED = 10,
	ERR_OUT_OF_RANGE = 11,
	ERR_UNIMPLEMENTED = 12,
	ERR_INTERNAL = 13,
	ERR_UNAVAILABLE = 14,
	ERR_DATA_LOSS = 15,
	ERR_UNAUTHENTICATED = 16,
};

#define ERROR_TEXT_MAX 1024

struct error {
	enum error_code code;
	char text[ERROR_TEXT_MAX]; /* NUL-terminated; a longer text is cut */
};

/* Fill *err with a code and a formatted text. Returns -1. */
__attribute__((format(printf, 3, 4))) int fail(struct error *err, enum error_code code,
					       const char *fmt, ...);
/* Fill *err with the code for errno, and the formatted text, ": " and errno's text. Returns -1. */
__attribute__((format(printf, 2, 3))) int fail_errno(struct error *err, const char *fmt, ...);
/* Put the formatted text and ": " before the text of *err, and keep its code. Returns -1. */
__attribute__((format(printf, 2, 3))) int fail_context(struct error *err, const char *fmt, ...);

/*
 * Returns -1. The result of fail() must be a constant for the compiler, or it warns about variables
 * that are uninitialised after a failure.
 */
static inline int error_minus_one(int result)
{
	(void)result;
	return -1;
}

#define fail(...)         error_minus_one((fail)(__VA_ARGS__))
#define fail_errno(...)   error_minus_one((fail_errno)(__VA_ARGS__))
#define fail_context(...) error_minus_one((fail_context)(__VA_ARGS__))

/* Returns the name of a code, such as "NOT_FOUND"; "UNKNOWN" for other numbers. Static text. */
const char *error_name(enum error_code code);

#endif
