/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Files that hold one protobuf message each: the hash of the message, then the message.
 *
 * Invariant: a file is replaced by rename(2), so it is whole, except after a loss of power: then
 * its hash is wrong, and it counts as missing. A file that protobuf cannot decode counts as missing
 * too.
 */
#include "node/agent/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/hash.h"
#include "common/log.h"
#include "transport/message.h"

static uint64_t hash_of(const uint8_t *bytes, size_t n)
{
	uint64_t hash = HASH_START;

	for (size_t i = 0; i < n; i++)
		hash = hash_byte(hash, bytes[i]);
	return hash;
}

static int write_all(int fd, const uint8_t *bytes, size_t n)
{
	while (n) {
		ssize_t written = write(fd, bytes, n);
		if (written < 0)
			return -1;
		bytes += written;
		n -= (size_t)written;
	}
	return 0;
}

/* Write a new file in the folder, and rename it to `name`. Returns 0, or -1 with errno. */
static int replace(int folder, const char *name, const uint8_t *bytes, size_t n)
{
	static const char beside[] = "new";
	auto_close int fd =
		openat(folder, beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || write_all(fd, bytes, n) < 0)
		return -1;
	return renameat(folder, beside, folder, name);
}

static int open_folder(const struct kept *kept)
{
	return kept->folder ? open(kept->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

void kept_file_write(struct kept *kept, const char *name, const ProtobufCMessage *message)
{
	size_t n = protobuf_c_message_get_packed_size(message);
	auto_free uint8_t *bytes = mem_alloc(sizeof(uint64_t) + n);
	struct error err;

	if (!kept->folder)
		return;
	protobuf_c_message_pack(message, bytes + sizeof(uint64_t));
	uint64_t hash = hash_of(bytes + sizeof(hash), n);
	memcpy(bytes, &hash, sizeof(hash));
	auto_close int folder = open_folder(kept);
	bool failed = folder < 0 || replace(folder, name, bytes, sizeof(hash) + n) < 0;
	if (failed && !kept->failed) {
		fail_errno(&err, "cannot write '%s/%s'", kept->folder, name);
		log_warn("cannot keep the names of other hosts", log_str("error", err.text));
	}
	kept->failed = failed;
}

/* *ret is the content of the file, in the arena. Returns its size in bytes, or -1. */
static ssize_t read_all(const struct kept *kept, const char *name, struct arena *arena,
			uint8_t **ret)
{
	struct stat stat;
	auto_close int folder = open_folder(kept);
	auto_close int fd =
		folder < 0 ? -1
			   : openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) ||
	    stat.st_size > KEPT_BYTES_MAX)
		return -1;
	*ret = arena_alloc(arena, (size_t)stat.st_size + 1);
	return read(fd, *ret, (size_t)stat.st_size);
}

ProtobufCMessage *kept_file_read(const struct kept *kept, const char *name, struct arena *arena,
				 const ProtobufCMessageDescriptor *type)
{
	ProtobufCMessage *message = NULL;
	struct error err;
	uint64_t hash;
	uint8_t *bytes;
	ssize_t size = read_all(kept, name, arena, &bytes);

	if (size < (ssize_t)sizeof(hash))
		return NULL;
	size_t n = (size_t)size - sizeof(hash);
	memcpy(&hash, bytes, sizeof(hash));
	if (hash != hash_of(bytes + sizeof(hash), n))
		fail(&err, ERR_INTERNAL, "'%s' is damaged: its hash is wrong", name);
	else if (message_decode(arena, type, bytes + sizeof(hash), n, &message, &err) == 0)
		return message;
	log_warn("cannot use kept names of other hosts", log_str("folder", kept->folder),
		 log_str("error", err.text));
	return NULL;
}

void kept_file_remove(const struct kept *kept, const char *name)
{
	auto_close int folder = open_folder(kept);

	if (folder >= 0)
		unlinkat(folder, name, 0);
}

/* *ret is the name of the oldest file with the prefix. Returns how many there are. */
static size_t oldest(DIR *folder, const char *prefix, char ret[NAME_MAX + 1])
{
	const struct dirent *entry;
	struct timespec first = {0};
	struct stat stat;
	size_t n = 0;

	rewinddir(folder);
	while ((entry = readdir(folder))) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
		    fstatat(dirfd(folder), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		bool older = stat.st_mtim.tv_sec != first.tv_sec
				     ? stat.st_mtim.tv_sec < first.tv_sec
				     : stat.st_mtim.tv_nsec < first.tv_nsec;
		if (n++ && !older)
			continue;
		first = stat.st_mtim;
		snprintf(ret, NAME_MAX + 1, "%s", entry->d_name);
	}
	return n;
}

void kept_file_limit(const struct kept *kept, const char *prefix, size_t max)
{
	char name[NAME_MAX + 1];
	DIR *folder = kept->folder ? opendir(kept->folder) : NULL;

	if (!folder)
		return;
	while (oldest(folder, prefix, name) > max && unlinkat(dirfd(folder), name, 0) == 0)
		;
	closedir(folder);
}
