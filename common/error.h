/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_ERROR_H
#define ZCSI_ERROR_H

/*
 * The error idiom. A function that can fail returns 0 (or a descriptor, or a count) on success
 * and -1 after filling *err; err is its last argument and is never NULL. Failing is one statement:
 *
 *	return fail(err, ERR_NOT_FOUND, "volume '%s' does not exist", id);
 *
 * The text reaches the person who typed the command: subject in quotes, cause, what to do.
 */

/* gRPC's status codes under our names (gRPC doc/statuscodes.md); the numbers are the wire's. */
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
	char text[ERROR_TEXT_MAX]; /* NUL-terminated, cut where it does not fit */
};

/* Fill *err; always -1. */
__attribute__((format(printf, 3, 4))) int fail(struct error *err, enum error_code code,
					       const char *fmt, ...);
/* The same from errno: the code it stands for, ": " and its text appended. */
__attribute__((format(printf, 2, 3))) int fail_errno(struct error *err, const char *fmt, ...);
/* Put "what we were doing: " before the text of an error already filled; keeps its code. */
__attribute__((format(printf, 2, 3))) int fail_context(struct error *err, const char *fmt, ...);

/* Compilers, too, are to know that it is -1, or they take the way on for possible. */
static inline int error_minus_one(int result)
{
	(void)result;
	return -1;
}

#define fail(...)         error_minus_one((fail)(__VA_ARGS__))
#define fail_errno(...)   error_minus_one((fail_errno)(__VA_ARGS__))
#define fail_context(...) error_minus_one((fail_context)(__VA_ARGS__))

/* "NOT_FOUND" for ERR_NOT_FOUND; "UNKNOWN" for a number that is no code. Static text. */
const char *error_name(enum error_code code);

#endif
