/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_KEPT_H
#define ZCSI_NODE_AGENT_KEPT_H

/*
 * A cache for controllers that restart: the hosts of the cluster, and the names of the volumes and
 * snapshots that some of them have. Its files may be lost: an error with a file is logged, and the
 * call succeeds. Any thread.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/mem.h"
#include "common/volume/host_list.h"
#include "proto/agent.h"

#define KEPT_FILES_MAX 64                /* number of hosts whose names are kept */
#define KEPT_BYTES_MAX (4 * 1024 * 1024) /* size of one file: the limit of a message */

struct kept {
	pthread_mutex_t lock; /* protects the list `hosts` */
	struct host_list hosts;
	pthread_mutex_t writing; /* held while files are written; taken before `lock` */
	char *folder;            /* folder of the files; NULL: nothing is written */
	bool failed;             /* the last file could not be written */
};

/* Create the folder DIR/NODE if needed, and read its files. If dir is "", no files are used. */
void kept_open(struct kept *kept, const char *dir, const char *node_id);
void kept_close(struct kept *kept);
/* Returns the digest of the list of hosts, which differs if two lists differ. */
uint64_t kept_digest(struct kept *kept);

/* Write a message to the file `name` of the folder, in place of its content. Errors are logged. */
void kept_file_write(struct kept *kept, const char *name, const ProtobufCMessage *message);
/*
 * Returns the message in a file of the folder, in the arena; NULL if there is no such file, or it
 * is damaged.
 */
ProtobufCMessage *kept_file_read(const struct kept *kept, const char *name, struct arena *arena,
				 const ProtobufCMessageDescriptor *type);
void kept_file_remove(const struct kept *kept, const char *name);
/* Remove the oldest files whose names begin with the prefix, until at most max are left. */
void kept_file_limit(const struct kept *kept, const char *prefix, size_t max);

#endif
