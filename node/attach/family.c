/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Families of encrypted volumes.
 *
 * Invariant: a key is unloaded only while its family is locked and mountinfo shows no volume of it.
 * A staging has the family locked from before its key is loaded or checked until its mount is
 * visible. The volume that owns the key, by whose name the family is locked, is not renamed
 * meanwhile. ZFS itself refuses to unload a key only while a file system is mounted or a device is
 * open; that is not enough, because the device of a published block volume may not be open.
 */
#include "node/attach/family.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "node/attach/device_name.h"
#include "node/catalog/change.h"
#include "node/host/node.h"
#include "node/mount/kind.h"

/*
 * Lock the name of a root, read the key, and repeat until the key has that root: a deletion may
 * rename the root before its name is locked.
 */
int family_lock(struct rpc_call *call, const char *dataset, struct family *ret, struct error *err)
{
	struct node *node = call->app;
	const char *root = dataset;

	for (;;) {
		ret->lock = arena_printf(&call->arena, "key %s", root);
		if (catalog_lock_key(node->catalog, call->deadline, ret->lock, err) < 0)
			return -1;
		int failed = key_read(dataset, &ret->key, err);
		if (!failed && !strcmp(ret->key.root, root))
			return 0;
		catalog_unlock_key(node->catalog, ret->lock);
		if (failed)
			return -1;
		root = arena_strdup(&call->arena, ret->key.root);
	}
}

void family_unlock(struct rpc_call *call, const struct family *family)
{
	struct node *node = call->app;

	catalog_unlock_key(node->catalog, family->lock);
}

/* Returns the dataset of the mount, in the arena; NULL if its source is of another parent. */
static const char *dataset_of(struct arena *arena, const struct mount *mount, const char *parent)
{
	const char *source = mount->source;
	size_t length = strlen(parent);

	if (!strncmp(source, DEVICE_FOLDER, strlen(DEVICE_FOLDER)))
		source += strlen(DEVICE_FOLDER);
	return !strncmp(source, parent, length) && source[length] == '/' ? device_name(arena, mount)
									 : NULL;
}

static bool is_among(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* *ret_staged is true if a volume with this key is mounted on this host. */
static int find_staged(struct rpc_call *call, const struct key *key, bool *ret_staged,
		       struct error *err)
{
	const struct node *node = call->app;
	struct mount_table table;
	size_t n = 0;

	if (mount_table_read(&call->arena, &table, err) < 0)
		return -1;
	const char **names = arena_alloc(&call->arena, (table.n + 1) * sizeof(*names));
	for (size_t i = 0; i < table.n; i++) {
		const char *name =
			dataset_of(&call->arena, &table.rows[i], catalog_parent(node->catalog));
		if (name && !is_among(names, n, name))
			names[n++] = name;
	}
	return key_is_shared(&call->arena, key, names, n, ret_staged, err);
}

int family_unload_key(struct rpc_call *call, const char *dataset, struct error *err)
{
	struct family family;
	bool staged = false;

	if (family_lock(call, dataset, &family, err) < 0)
		return -1;
	int failed = find_staged(call, &family.key, &staged, err);
	if (!failed && staged)
		log_debug("key is still loaded: a volume with it is staged",
			  log_str("dataset", family.key.root));
	else if (!failed)
		failed = key_unload(&family.key, err);
	family_unlock(call, &family);
	return failed;
}
