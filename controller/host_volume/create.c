/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The operation create. Nomad calls it for a new volume, for one that is to be larger, and for
 * every volume when a client starts.
 *
 * Invariant: an empty volume is made only for a new id. The directory at the path is made after the
 * volume, and removed after it, so where there is a directory and no volume, data is missing.
 *
 * The name has 32 random bits of Nomad's id, so no other caller asks for it, and it is not claimed
 * (controller/README.md).
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "controller/host_volume/host_volume.h"

/* Check that the parameters node and pool fit this host, since Nomad has chosen it already. */
static int check_place(const struct local *local, const struct parameters *parameters,
		       struct error *err)
{
	const GetHostResponse *host = local->self->host;
	size_t pool = strcspn(host->dataset, "/");

	if (parameters->node && strcmp(parameters->node, host->node_id) != 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "parameter node=%s is refused: Nomad has placed the volume on node "
			    "'%s'; give a constraint or node_id in the volume file instead",
			    parameters->node, host->node_id);
	if (parameters->pool && (strlen(parameters->pool) != pool ||
				 strncmp(parameters->pool, host->dataset, pool) != 0))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "parameter pool=%s is refused: the volumes of node '%s' are in '%s'",
			    parameters->pool, host->node_id, host->dataset);
	return 0;
}

/* Put the parameter `members` into the request, this node first; no node if it is the only one. */
static int take_members(const struct local *local, const struct parameters *parameters,
			CreateDatasetRequest *request, struct error *err)
{
	const char *own = local->self->host->node_id;
	char *rest = arena_strdup(local->arena, parameters->members);
	bool among = false;

	request->members =
		arena_alloc(local->arena, (strlen(rest) + 2) * sizeof(*request->members));
	request->members[request->n_members++] = arena_strdup(local->arena, own);
	for (char *name = strsep(&rest, ","); name; name = strsep(&rest, ",")) {
		if (strcmp(name, own) == 0)
			among = true;
		else
			request->members[request->n_members++] = name;
	}
	size_t n = request->n_members;
	if (n == 1)
		request->n_members = 0;
	if (among && n == parameters->replicas)
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "parameter members=%s is refused: it has to name node '%s', where Nomad has "
		    "placed the volume, and as many nodes as replicas says",
		    parameters->members, own);
}

/* Check that nothing is at the path: a new volume has a new id. */
static int check_new(const struct request *request, struct error *err)
{
	struct stat found;

	if (lstat(request->path, &found) == 0)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "volume '%s' was at '%s', and this host does not have it any more: see "
			    "'zcsi trash list' and 'zcsi list'; to begin with an empty one, remove "
			    "that directory",
			    request->name, request->path);
	if (errno != ENOENT)
		return fail_errno(err, "cannot look at '%s'", request->path);
	return 0;
}

static int make(struct local *local, const struct request *request, const Dataset **ret,
		struct error *err)
{
	CreateDatasetRequest *asked = new_create_dataset_request(local->arena);
	CreateDatasetResponse *response;

	if (check_new(request, err) < 0)
		return -1;
	asked->id = arena_strdup(local->arena, request->name);
	asked->size = capacity_range_choose(&request->range);
	asked->format = arena_strdup(local->arena, FORMAT_ZFS);
	parameters_create(local->arena, &request->parameters, asked);
	if (request->parameters.members &&
	    take_members(local, &request->parameters, asked, err) < 0)
		return -1;
	if (local_ask(local, "CreateDataset", &asked->base, &response, err) < 0)
		return -1;
	*ret = response->dataset;
	return *ret ? 0 : fail(err, ERR_INTERNAL, "zcsi-node's answer has no volume: try again");
}

/* Check that an existing volume has the parameters of the request, one of which is Nomad's id. */
static int compare(const struct local *local, const struct request *request, const Dataset *volume,
		   struct error *err)
{
	const char *difference =
		parameters_difference(local->arena, volume->parameters, request->parameters.text);

	if (!difference)
		return 0;
	return fail(err, ERR_ALREADY_EXISTS,
		    "volume '%s' exists with other parameters: %s; give the parameters that it "
		    "has, and change it with 'zcsi modify'",
		    volume->id, difference);
}

/* Grow the volume to capacity_min. It never shrinks, even if it is larger than capacity_max. */
static int grow(struct local *local, const struct request *request, const Dataset *volume,
		int64_t *ret_size, struct error *err)
{
	ResizeDatasetRequest *asked = new_resize_dataset_request(local->arena);
	ResizeDatasetResponse *response;

	*ret_size = volume->size;
	if (!volume->size || request->range.required <= volume->size)
		return 0;
	asked->id = arena_strdup(local->arena, volume->id);
	asked->size = request->range.required;
	if (local_ask(local, "ResizeDataset", &asked->base, &response, err) < 0)
		return -1;
	if (response->dataset)
		*ret_size = response->dataset->size;
	return 0;
}

int create_run(struct local *local, const struct request *request, int64_t *ret_size,
	       struct error *err)
{
	const Dataset *volume;

	if (local_meet(local, err) < 0 || check_place(local, &request->parameters, err) < 0 ||
	    local_find(local, request->id, &volume, err) < 0)
		return -1;
	if (!volume && make(local, request, &volume, err) < 0)
		return -1;
	if (compare(local, request, volume, err) < 0 ||
	    grow(local, request, volume, ret_size, err) < 0)
		return -1;
	if (mkdir(request->folder, 0755) < 0 && errno != EEXIST)
		return fail_errno(err, "cannot make the directory '%s'", request->folder);
	return mount_run(local, volume->id, request->path, err);
}
