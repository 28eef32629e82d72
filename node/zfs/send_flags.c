/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The options of `zfs send`, and whether its stream has anything.
 *
 * Invariant: a dataset is never encrypted or decrypted by zcsi, and -L is always given, so all
 * streams of a volume have the same options, and each may follow any other (zfs-send(8)).
 */
#include "node/zfs/send_flags.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "node/zfs/key.h"
#include "node/zfs/zfs_run.h"

/*
 * A record of a stream, struct dmu_replay_record: its type and the length of its payload, of 4
 * bytes each in the order of this host, and more, which differs by type.
 */
#define RECORD       312
#define RECORD_BEGIN 0
#define RECORD_END   5

#define EMPTY_MAX    65536 /* longest stream without data: its begin may have a payload */

const char *send_flags_for(bool encrypted)
{
	return encrypted ? "-w" : "-Lc";
}

int send_flags(const char *dataset, const char **ret, struct error *err)
{
	struct key key;

	*ret = NULL;
	if (!zfs_is_the_kernels())
		return 0;
	if (key_read(dataset, &key, err) < 0)
		return -1;
	*ret = send_flags_for(strcmp(key.root, "-") != 0);
	return 0;
}

/* The size is the last word of the last line; the word before the size is a name, or "size". */
int64_t send_size(const char *printed)
{
	const char *word = strrchr(printed, '\t');

	return word ? strtoll(word, NULL, 10) : 0;
}

int send_estimate(const char *const *argv, size_t n, int64_t *ret, struct error *err)
{
	const char *dry[SEND_WORDS_MAX + 2] = {argv[0], argv[1], "-nP"};
	auto_free char *out = NULL;

	assert(n >= 2 && n <= SEND_WORDS_MAX);
	memcpy(dry + 3, argv + 2, (n - 2) * sizeof(*dry));
	if (zfs_run_once(&(struct exec){.argv = dry}, &out, err) < 0)
		return -1;
	*ret = send_size(out);
	return 0;
}

static uint32_t number_at(const char *stream, size_t at)
{
	uint32_t number;

	memcpy(&number, stream + at, sizeof(number));
	return number;
}

bool send_is_empty(const char *stream, size_t n)
{
	if (n < 2 * RECORD || number_at(stream, 0) != RECORD_BEGIN ||
	    number_at(stream, sizeof(uint32_t)) != n - 2 * RECORD)
		return false;
	return number_at(stream, n - RECORD) == RECORD_END;
}

/* A stream with data may be long, so zfs is killed once it has printed EMPTY_MAX. */
int send_differs(const char *snapshot, const char *dataset, bool *ret, struct error *err)
{
	const char *argv[] = {"zfs", "send", "-i", snapshot, dataset, NULL};
	auto_free char *out = NULL;
	size_t n = 0;
	const struct exec exec = {.argv = argv, .max_output = EMPTY_MAX, .ret_length = &n};

	int failed = zfs_run_once(&exec, &out, err);
	*ret = n > EMPTY_MAX || (!failed && !send_is_empty(out, n));
	return *ret ? 0 : failed;
}

uint64_t send_of_token(const char *token, int64_t *ret_size)
{
	const char *argv[] = {"zfs", "send", "-nvP", "-t", token, NULL};
	auto_free char *out = NULL;
	struct error ignored;

	*ret_size = 0;
	if (zfs_run_once(&(struct exec){.argv = argv}, &out, &ignored) < 0)
		return 0;
	*ret_size = send_size(out);
	const char *guid = strstr(out, "toguid = ");
	return guid ? strtoull(guid + strlen("toguid = "), NULL, 0) : 0;
}
