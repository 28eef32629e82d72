/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_EXEC_H
#define ZCSI_EXEC_H

/*
 * Run a program and wait for it. It is started from an argv without a shell, with LC_ALL=C; stdin
 * is /dev/null or a text, stdout and stderr are collected. It inherits no other descriptors, except
 * keep, and all signals are at their defaults. Each run logs one line at debug: argv, status,
 * milliseconds. Blocks, so for worker threads only.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct exec {
	const char *const *argv; /* arguments, ended by NULL; argv[0] is looked up in PATH */
	const char *input;       /* text for stdin, or NULL; the copy is wiped after the run */
	int64_t timeout_ms;      /* time until SIGKILL; 0: EXEC_TIMEOUT_MS */
	size_t max_output;       /* largest number of bytes of stdout; 0: EXEC_OUTPUT_MAX */
	size_t *ret_length;      /* receives the bytes of stdout; max_output + 1: more; or NULL */
	const char *begins;      /* stdout must begin with this text; NULL: with any */
	int *ret_left;           /* receives the pidfd of a program that timed out; or NULL */
	int keep;                /* descriptor that the program inherits as 3; 0: none */
	int stop;                /* descriptor; once readable, the program is killed; 0: none */
};

#define EXEC_TIMEOUT_MS 120000
#define EXEC_OUTPUT_MAX ((size_t)1 << 20)

struct exec_result {
	int status;  /* exit status, or CHILD_SIGNALLED + signal (common/child.h) */
	char *out;   /* all of stdout, NUL-terminated */
	char *error; /* first 32 KiB of stderr, NUL-terminated, without trailing newlines */
};

/*
 * Run a program. Returns 0 if it ran to its end, with any status; the caller frees *ret by
 * exec_result_fini. Returns -1 if it could not be started (ERR_FAILED_PRECONDITION if it is not
 * installed), timed out (ERR_UNAVAILABLE), printed too much or other than `begins` (ERR_INTERNAL),
 * or was stopped (ERR_CANCELLED), and was killed. With ret_left, a program that timed out is not
 * killed: *ret_left is its pidfd, which the caller owns. In all other cases *ret_left is not
 * changed.
 */
int exec_run(const struct exec *exec, struct exec_result *ret, struct error *err);
void exec_result_fini(struct exec_result *result);

#endif
