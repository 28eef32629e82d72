/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Looking at a dataset before AdoptDataset makes a volume of it.
 *
 * Invariant: nothing is changed. The device of a zvol of another driver is opened exclusively to
 * see which filesystem it has, which fails if an iSCSI target or another program of the kernel has
 * it. A zvol that was received has a format by the request, because its key may not be there.
 */
#include "node/create/adoptee.h"

#include <fcntl.h>
#include <string.h>

#include "common/child.h"
#include "node/attach/device.h"
#include "node/attach/probe.h"
#include "node/attach/unused.h"
#include "node/record/volume_parse.h"
#include "node/zfs/zfs_run.h"
#include "node/zfs/zfs_table.h"

const char *adoptee_name(struct rpc_call *call, const AdoptDatasetRequest *req)
{
	const struct node *node = call->app;

	return *req->dataset ? req->dataset
			     : dataset_received_name(&call->arena, catalog_parent(node->catalog),
						     req->id);
}

static int read_properties(struct arena *arena, struct adoptable *ret, struct error *err)
{
	const char *properties = adoptable_properties(zfs_is_the_kernels());
	struct zfs_fields row;

	if (zfs_table_one(arena, ret->name, properties, &row, err) < 0) {
		if (err->code != ERR_NOT_FOUND)
			return -1;
		return fail(err, ERR_NOT_FOUND, "there is no '%s'%s", ret->name,
			    adoptable_is_received(ret) ? ", which 'zcsi receive' would have made"
						       : ": see 'zfs list' on its node");
	}
	if (adoptable_parse(&row, ret))
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION, "'%s' is no filesystem and no zvol", ret->name);
}

static int read_list(struct adoptable *ret, struct error *err)
{
	const char *argv[] = {
		"zfs", "list", "-H",      "-d", "1", "-t", "filesystem,volume,snapshot",
		"-o",  "name", ret->name, NULL};
	auto_free char *listed = NULL;

	if (zfs_run_once(&(struct exec){.argv = argv, .max_output = ZFS_LIST_OUTPUT_MAX}, &listed,
			 err) < 0)
		return -1;
	adoptable_count(listed, ret);
	return 0;
}

/* Read which properties of zcsi are set. Those that an adoption has set are not read. */
static int read_ours(struct arena *arena, struct adoptable *ret, struct error *err)
{
	char *names;
	size_t length;

	if (ret->described || adoptable_is_received(ret))
		return 0;
	if (zfs_table_names(arena, NULL, ret->name, &names, err) < 0)
		return -1;
	for (const char *at = names; *at; at += length + (at[length] == ',')) {
		length = strcspn(at, ",");
		if (strncmp(at, "zcsi:", strlen("zcsi:")) == 0)
			ret->ours = arena_printf(arena, "%s%s%.*s", ret->ours,
						 *ret->ours ? "," : "", (int)length, at);
	}
	return 0;
}

static int check_unused(struct arena *arena, const struct adoptable *found, struct error *err)
{
	const struct dataset dataset = {.name = (char *)found->name,
					.format = format_find(found->zvol ? FORMAT_BLOCK
									  : FORMAT_ZFS)};

	if (unused_check(arena, &dataset, err) == 0)
		return 0;
	if (!found->zvol && err->code == ERR_FAILED_PRECONDITION)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is in use: %s, or run 'zfs unmount %s'", found->name,
			    arena_strdup(arena, err->text), found->name);
	return fail_context(err, "'%s' is in use", found->name);
}

static int probe(const char *name, int64_t deadline, struct probe *ret, struct error *err)
{
	auto_close int device = device_open(name, O_EXCL, deadline, err);

	return device < 0 ? -1 : probe_read(device, ret, err);
}

/* Find the format of a zvol by what is on its device. */
static int look_into(struct rpc_call *call, const struct format *wish, struct adoptee *ret,
		     struct error *err)
{
	const struct adoptable *found = &ret->found;
	struct probe content;

	if (found->locked)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "the key of '%s' is not loaded, so it is not seen what is on it: run "
			    "'zfs load-key %s' first",
			    found->name, found->root);
	int failed = probe(found->name, call->deadline, &content, err);
	child_settle();
	if (failed)
		return fail_context(err, "'%s' cannot be looked into", found->name);
	ret->format = adoptable_format(found, content.type, wish, err);
	if (!ret->format)
		return -1;
	/* A clone gets a UUID of its own when it is first staged. */
	ret->formatted = ret->format->mounts && !strcmp(found->origin, "-");
	return 0;
}

int adoptee_read(struct rpc_call *call, const AdoptDatasetRequest *req, struct adoptee *ret,
		 struct error *err)
{
	const struct node *node = call->app;
	const char *parent = catalog_parent(node->catalog);
	const struct adoption_wish wish = {req->guid, req->size, format_find(req->format)};
	struct adoptable *found = &ret->found;

	*ret = (struct adoptee){.found = {.name = adoptee_name(call, req),
					  .parent = parent,
					  .volume = volume_ids(&call->arena, req->id, req->id)}};
	if (adoptable_check_name(parent, found->name, err) < 0 ||
	    read_properties(&call->arena, found, err) < 0 || read_list(found, err) < 0 ||
	    read_ours(&call->arena, found, err) < 0 || adoptable_check(found, &wish, err) < 0 ||
	    check_unused(&call->arena, found, err) < 0)
		return -1;
	ret->size = adoptable_size(found, &wish);
	ret->format = wish.format;
	if (found->zvol && !(wish.format && adoptable_is_received(found)))
		return look_into(call, wish.format, ret, err);
	if (!ret->format)
		ret->format = format_find(FORMAT_ZFS);
	return 0;
}
