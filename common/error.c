/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Errors: functions that fill struct error, and the only mapping of errno to an error code.
 *
 * Invariant: a function that returns -1 has filled *err, and the text is NUL-terminated. Error
 * texts of zfs(8) are mapped to codes only in node/zfs/zfs_run.c, HTTP/2 errors only in
 * transport/wire.c.
 */
#include "common/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static enum error_code code_of_errno(int number)
{
	switch (number) {
	case EINVAL:
	case ENAMETOOLONG:
	case ENOTDIR:
	case EISDIR:
	case ELOOP:
		return ERR_INVALID_ARGUMENT;
	case ENOENT:
		return ERR_NOT_FOUND;
	case EEXIST:
		return ERR_ALREADY_EXISTS;
	case EPERM:
	case EACCES:
		return ERR_PERMISSION_DENIED;
	case ENOSPC:
	case EDQUOT:
	case EMFILE:
	case ENFILE:
		return ERR_RESOURCE_EXHAUSTED;
	case EBUSY:
	case ENOTEMPTY:
		return ERR_FAILED_PRECONDITION;
	case ETIMEDOUT:
		return ERR_DEADLINE_EXCEEDED;
	case ECONNREFUSED:
	case ECONNRESET:
	case ENODEV:
	case EAGAIN:
		return ERR_UNAVAILABLE;
	default:
		return ERR_INTERNAL;
	}
}

int(fail)(struct error *err, enum error_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	err->code = code;
	return -1;
}

/* Fill the text with the formatted message, ": " and the cause. */
__attribute__((format(printf, 2, 0))) static void format_text(struct error *err, const char *fmt,
							      va_list ap, const char *cause)
{
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	size_t used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", cause);
}

int(fail_errno)(struct error *err, const char *fmt, ...)
{
	int number = errno;
	const char *cause = strerrordesc_np(number);
	va_list ap;

	va_start(ap, fmt);
	format_text(err, fmt, ap, cause ? cause : "unknown error");
	va_end(ap);
	err->code = code_of_errno(number);
	return -1;
}

int(fail_context)(struct error *err, const char *fmt, ...)
{
	struct error cause = *err;
	va_list ap;

	va_start(ap, fmt);
	format_text(err, fmt, ap, cause.text);
	va_end(ap);
	return -1;
}

const char *error_name(enum error_code code)
{
	static const char *const names[] = {
		[ERR_OK] = "OK",
		[ERR_CANCELLED] = "CANCELLED",
		[ERR_UNKNOWN] = "UNKNOWN",
		[ERR_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
		[ERR_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED",
		[ERR_NOT_FOUND] = "NOT_FOUND",
		[ERR_ALREADY_EXISTS] = "ALREADY_EXISTS",
		[ERR_PERMISSION_DENIED] = "PERMISSION_DENIED",
		[ERR_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
		[ERR_FAILED_PRECONDITION] = "FAILED_PRECONDITION",
		[ERR_ABORTED] = "ABORTED",
		[ERR_OUT_OF_RANGE] = "OUT_OF_RANGE",
		[ERR_UNIMPLEMENTED] = "UNIMPLEMENTED",
		[ERR_INTERNAL] = "INTERNAL",
		[ERR_UNAVAILABLE] = "UNAVAILABLE",
		[ERR_DATA_LOSS] = "DATA_LOSS",
		[ERR_UNAUTHENTICATED] = "UNAUTHENTICATED",
	};

	return (unsigned)code < sizeof(names) / sizeof(names[0]) ? names[code] : "UNKNOWN";
}
