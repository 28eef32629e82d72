/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The nodes that have copies of a volume, and the rules of their pushes: the steps of handlers
 * (copy.c, ModifyDataset of zcsi.v1.Agent), of the pusher and of repairs.
 *
 * Invariant: zcsi:members names every node that has a copy. A node is added before any data is sent
 * there, and removed after that node has said that it has no copy.
 */
#include "node/copy/membership.h"

#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "node/catalog/change.h"
#include "node/copy/history.h"
#include "node/copy/pins.h"
#include "node/host/owner.h"
#include "node/service.h"
#include "node/stream/copies.h"
#include "node/stream/keyed.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

#define EVERY_DEFAULT 300   /* seconds */
#define FIND_MS       10000 /* to look up a volume in the catalog */

/* Returns the value of zcsi:push for push->rules; NULL if the volume has that value already. */
static char *new_rules(const struct push *push)
{
	char *text = push_rules_format(push->arena, &push->rules);
	const char *now = *push->volume->push ? push->volume->push : "-";

	return strcmp(text, now) != 0 ? text : NULL;
}

int membership_record(const struct push *push, const struct members *members, struct error *err)
{
	struct zfs_properties properties = {.n = 0};
	struct dataset changed = *push->volume;
	char *rules = new_rules(push);

	if (members) {
		changed.members = members_format(push->arena, members);
		changed.owner = owner_text(push->node, push->arena, push->volume->owner);
		zfs_property(&properties, "zcsi:members", changed.members);
		zfs_property(&properties, "zcsi:owner", changed.owner);
	}
	if (rules) {
		changed.push = rules;
		zfs_property(&properties, "zcsi:push", changed.push);
	}
	if (zfs_set(push->volume->name, &properties, err) < 0)
		return -1;
	if (members && !members->n)
		changed.members = (char *)"";
	catalog_put(push->node->catalog, &changed);
	return 0;
}

/* Returns true if the volume, on this node, has copies elsewhere. */
static bool has_copies(const struct members *members, const char *our_id)
{
	return members->n > 1 || (members->n && !members_have(members, our_id));
}

/* Remove push->to from `text`, the value of zcsi:members. The caller has called push_lock. */
static int forget(struct push *push, const char *text, struct error *err)
{
	const char *dataset = push->volume->name;
	struct members members;

	if (!members_parse(push->arena, text, &members) ||
	    (!members_have(&members, push->to) && !members_owe(&members, push->to)))
		return 0;
	members_remove(&members, push->to);
	if (zfs_destroy(history_bookmark(push->arena, dataset, push->to), err) < 0 &&
	    err->code != ERR_NOT_FOUND)
		return -1;
	push->rules = push_rules_parse(push->volume->push);
	if (!has_copies(&members, push->node->id)) {
		if (pins_end(push->arena, dataset, err) < 0)
			return -1;
		push->rules.paused = false;
		/* The record of the members stays as long as it names nodes that are owed. */
		if (!members.n_owed) {
			members.n = 0;
			push->rules.every = members.every == EVERY_DEFAULT ? 0 : members.every;
		}
	}
	if (push->rules.nodes > (int64_t)members.n)
		push->rules.nodes = (int64_t)members.n;
	if (membership_record(push, &members, err) < 0)
		return -1;
	/* Reap the trash: a deleted volume may have stayed there only because of this copy. */
	if (!members.n)
		catalog_reap(push->node->catalog);
	return 0;
}

/* Destroy the copy. gone: also succeed if its node cannot be reached. */
static int drop(struct push *push, bool gone, struct error *err)
{
	if (push_drop(push, err) == 0)
		return 0;
	return gone && (err->code == ERR_UNAVAILABLE || err->code == ERR_DEADLINE_EXCEEDED) ? 0
											    : -1;
}

static int end_locked(struct push *push, bool gone, struct error *err)
{
	auto_free char *text = NULL;

	if (drop(push, gone, err) < 0 || zfs_members(push->volume->name, &text, err) < 0)
		return -1;
	return forget(push, text, err);
}

int membership_end(struct push *push, bool gone, struct error *err)
{
	if (push_lock(push, err) < 0)
		return -1;
	int failed = end_locked(push, gone, err);
	push_unlock(push);
	return failed;
}

struct trimming {
	struct push *push;
	int failed;
	struct error *err;
};

/*
 * Read the volume again, which no other call changes meanwhile, and drop the copy if it is to go.
 */
static void trim(void *arg)
{
	struct trimming *trimming = arg;
	struct push *push = trimming->push;
	const struct node *node = push->node;
	struct dataset *volume;

	trimming->failed = catalog_get(node->catalog, now_ms() + FIND_MS, push->arena,
				       push->volume->id, &volume, trimming->err);
	if (trimming->failed)
		return;
	const struct push_rules rules = push_rules_parse(volume->push);
	push->volume = volume;
	if (!members_parse(push->arena, volume->members, &push->members) ||
	    (!members_owe(&push->members, push->to) &&
	     !members_extra(&push->members, rules.nodes, node->id, push->to)))
		return;
	trimming->failed = owner_check(node, volume, trimming->err) < 0 ||
			   membership_end(push, false, trimming->err) < 0;
	if (!trimming->failed)
		log_info("replaced copy is dropped", log_str("volume", volume->id),
			 log_str("node", push->to));
}

int membership_trim(struct push *push, struct error *err)
{
	struct trimming trimming = {.push = push, .err = err};

	keyed_run(push->node->copies, push->volume->id, trim, &trimming);
	return trimming.failed;
}

int membership_push(struct rpc_call *call, struct dataset *volume, struct push *ret,
		    struct error *err)
{
	const struct node *node = call->app;

	*ret = (struct push){.node = node,
			     .loop = node->copies->loop,
			     .volume = volume,
			     .rules = push_rules_parse(volume->push),
			     .arena = &call->arena};
	if (members_parse(&call->arena, volume->members, &ret->members))
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "zcsi:members of '%s' cannot be read: '%s'; correct it with 'zfs set', or run "
		    "'zfs inherit zcsi:members %s'",
		    volume->name, volume->members, volume->name);
}

/*
 * Set how many seconds copies may be behind; 0: no change. Without copies, set it for the first
 * copy.
 */
static int set_every(struct push *push, int64_t every, struct error *err)
{
	if (!every)
		return 0;
	*(push->members.n ? &push->members.every : &push->rules.every) = every;
	if (every_is(every))
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "a copy may be behind by %d to %d seconds, not by %" PRId64, MEMBERS_EVERY_MIN,
		    MEMBERS_EVERY_MAX, every);
}

/* Add push->to to push->members. Returns 0, or -1 with *err, also for a wrong `every`. */
static int add(struct push *push, int64_t every, struct error *err)
{
	struct members *members = &push->members;

	if (!*members->lineage)
		members->lineage = lineage_new(push->arena);
	if (!members->every)
		members->every = push->rules.every ? push->rules.every : EVERY_DEFAULT;
	push->rules.every = 0;
	if (!members_add(members, push->node->id) || !members_add(members, push->to))
		return fail(err, ERR_FAILED_PRECONDITION, "a volume can be on %d nodes at most",
			    MEMBERS_MAX);
	return set_every(push, every, err);
}

int membership_able(const struct node *node, struct error *err)
{
	if (ssh_server())
		return fail(err, ERR_FAILED_PRECONDITION,
			    "the pool of node '%s' is on a server over ssh, '%s', from which no "
			    "copies can be sent; run zcsi-node on that server instead of here",
			    node->id, ssh_server());
	if (zfs_is_the_kernels())
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "node '%s' has zfs-fuse, which cannot keep copies up to date; use OpenZFS",
		    node->id);
}

static int check_can_push(const struct push *push, struct error *err)
{
	if (strcmp(push->to, push->node->id) == 0)
		return fail(err, ERR_INVALID_ARGUMENT, "it is on node '%s'; name another node",
			    push->to);
	return membership_able(push->node, err);
}

int membership_admit(struct push *push, int64_t every, struct error *err)
{
	if (check_can_push(push, err) == 0 && add(push, every, err) == 0 &&
	    push_check(push, err) == 0)
		return 0;
	return fail_context(err, "volume '%s' cannot have a copy on node '%s'", push->volume->id,
			    push->to);
}

int membership_extend(struct rpc_call *call, struct dataset *volume, const char *to,
		      struct error *err)
{
	struct push push;

	if (membership_push(call, volume, &push, err) < 0)
		return -1;
	if (push.rules.follow != FOLLOW_ANYWHERE || members_have(&push.members, to))
		return 0;
	push.to = to;
	if (!push.rules.nodes)
		push.rules.nodes = push.members.n ? (int64_t)push.members.n : 1;
	if (membership_admit(&push, 0, err) < 0 || membership_record(&push, &push.members, err) < 0)
		return -1;
	log_info("copy is added for a move", log_str("volume", volume->id), log_str("node", to));
	return 0;
}

static int fail_to_drop(struct push *push, int32_t replicas, struct error *err)
{
	const struct members *members = &push->members;
	char *names = arena_strdup(push->arena, "");

	for (size_t i = 0; i < members->n; i++)
		names = arena_printf(push->arena, "%s%s'%s'", names, i ? ", " : "",
				     members->nodes[i]);
	return fail(err, ERR_FAILED_PRECONDITION,
		    "volume '%s' is on %zu nodes, %s, and replicas=%d would drop a copy, which a "
		    "modification never does: run 'zcsi copy drop %s NODE' first",
		    push->volume->id, members->n, names, (int)replicas, push->volume->id);
}

/* Add candidates until the volume is on as many nodes as are asked for. */
static int add_candidates(struct push *push, const ModifyDatasetRequest *req, struct error *err)
{
	struct members *members = &push->members;
	size_t wanted = (size_t)req->replicas;

	/* If the volume is on more nodes than `replicas`, membership_trim drops copies. */
	if (req->replicas == push->rules.nodes)
		return 0;
	if (wanted < members->n)
		return fail_to_drop(push, req->replicas, err);
	push->rules.nodes = 0;
	for (size_t i = 0; i < req->n_candidates && wanted > 1 && members->n < wanted; i++) {
		push->to = req->candidates[i];
		if (!members_have(members, push->to) &&
		    membership_admit(push, req->sync_every, err) < 0)
			return -1;
	}
	if (wanted == 1 || members->n == wanted)
		return 0;
	return fail(err, ERR_ABORTED,
		    "volume '%s' is to be on %zu nodes, and %zu are left since a copy was dropped "
		    "meanwhile: try again",
		    req->id, wanted, members->n ? members->n : 1);
}

int membership_modify(struct rpc_call *call, struct dataset *volume,
		      const ModifyDatasetRequest *req, struct membership_change *ret,
		      struct error *err)
{
	struct push push;

	*ret = (struct membership_change){.members = NULL};
	if (!req->replicas && !req->sync_every && !req->bandwidth && !*req->snapshots &&
	    !req->pin_limit && !req->repair_after && !*req->follow)
		return 0;
	if (req->replicas < 0 || req->replicas > MEMBERS_MAX)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "replicas is %d; a volume can be on 1 to %d nodes", (int)req->replicas,
			    MEMBERS_MAX);
	if (membership_push(call, volume, &push, err) < 0 ||
	    (req->replicas && add_candidates(&push, req, err) < 0))
		return -1;
	if (set_every(&push, req->sync_every, err) < 0 ||
	    push_rules_take_bandwidth(&push.rules, req->bandwidth, err) < 0 ||
	    push_rules_take_pin_limit(&push.rules, req->pin_limit, err) < 0 ||
	    push_rules_take_repair(&push.rules, req->repair_after, err) < 0 ||
	    push_rules_take_snapshots(&push.rules, req->snapshots, err) < 0 ||
	    push_rules_take_follow(&push.rules, req->follow, err) < 0 ||
	    (push.rules.follow == FOLLOW_ANYWHERE && membership_able(push.node, err) < 0))
		return fail_context(err, "volume '%s' is not changed", req->id);
	char *text = members_format(&call->arena, &push.members);
	if (push.members.n && strcmp(text, volume->members) != 0)
		ret->members = text;
	ret->push = new_rules(&push);
	return 0;
}
