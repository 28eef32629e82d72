/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_EXEC_H
#define ZCSI_EXEC_H

/*
 * Run a program and wait for it: an argv, never a shell; LC_ALL=C; stdin is /dev/null or a text;
 * stdout and stderr are collected. The child has no other descriptor of ours and every signal at
 * its default. One debug line in the log a run: the argv, the status, the milliseconds. Blocks: for
 * worker threads only.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct exec {
	const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH */
	const char *input;       /* what stdin gives, or NULL; wiped when it has ended */
	int64_t timeout_ms;      /* then SIGKILL; 0 takes EXEC_TIMEOUT_MS */
	size_t max_output;       /* of stdout; 0 takes EXEC_OUTPUT_MAX */
	int *ret_left;           /* NULL; else it is not killed at its timeout: see exec_run */
	int keep;                /* a descriptor of ours that it has too, until it ends; 0: none */
};

#define EXEC_TIMEOUT_MS 120000
#define EXEC_OUTPUT_MAX ((size_t)64 << 20)

struct exec_result {
	int status;  /* as child_reap returns it (common/child.h) */
	char *out;   /* stdout, NUL-terminated, whole */
	char *error; /* stderr, NUL-terminated, its first 4 KiB, trailing newline removed */
};

/*
 * 0 when the program ran to its end, whatever its status; *ret is then the caller's to
 * exec_result_fini. -1: it could not be started (ERR_FAILED_PRECONDITION names what is not
 * installed), was killed at its timeout (ERR_UNAVAILABLE) or printed too much (ERR_INTERNAL).
 * One that goes on after its timeout is left to the caller: its pidfd is in *ret_left, which is as
 * it was when there is none.
 */
int exec_run(const struct exec *exec, struct exec_result *ret, struct error *err);
void exec_result_fini(struct exec_result *result);

#endif
