/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The check that the dataset of a volume may get another name.
 *
 * Invariant: an export that no publication needs any more is withdrawn first, so that its mount
 * does not count as a use.
 */
#include "node/change/alone.h"

#include "node/attach/unused.h"
#include "node/export/exports.h"

int alone_check(struct rpc_call *call, const struct dataset *volume, size_t children,
		struct error *err)
{
	const struct node *node = call->app;

	if (children)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "%zu datasets are below it; list them with 'zfs list -r %s', and "
			    "rename them first",
			    children, volume->name);
	if (exports_apply(&call->arena, node, volume, call->deadline, err) < 0)
		return -1;
	return unused_check(&call->arena, volume, err);
}
