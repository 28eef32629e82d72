/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi-node: parses the options, starts the services, and serves until a signal ends it.
 *
 * Invariant: zcsi-node listens before it reads the pool, so the Probe of an orchestrator is
 * answered at once, whatever the state of the pool is. The mounts stay when zcsi-node ends.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "node/agent/agent.h"
#include "node/host/claims.h"
#include "node/agent/kept.h"
#include "node/agent/reaper.h"
#include "node/change/detacher.h"
#include "node/change/end_renames.h"
#include "node/backup/backups.h"
#include "node/check/check.h"
#include "node/stream/copies.h"
#include "node/stream/program_stream.h"
#include "node/peers/peers.h"
#include "node/copy/pusher.h"
#include "node/move/mover.h"
#include "node/owner/heard.h"
#include "node/owner/herald.h"
#include "node/repair/mender.h"
#include "node/export/exports.h"
#include "node/catalog/feed.h"
#include "node/zfs/argv.h"
#include "node/zfs/fuse.h"
#include "node/metrics.h"
#include "node/host/asides.h"
#include "node/host/data_dir.h"
#include "node/host/moves.h"
#include "node/host/node.h"
#include "node/host/owner.h"
#include "node/host/privileges.h"
#include "node/service.h"
#include "node/host/settings.h"
#include "node/host/size_limits.h"
#include "node/host/troubles.h"
#include "node/schedule/keeper.h"
#include "node/space/low_space.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_run.h"
#include "transport/daemon.h"
#include "transport/endpoint.h"

static const struct rpc_service *const csi_services[] = {&identity_service, &node_service, NULL};
static const struct rpc_service *const agent_services[] = {&agent_service, &copy_service,
							   &replica_service, &backup_service, NULL};
/* Services for programs that root runs on this host. zcsi-host-volume mounts by csi.v1.Node. */
static const struct rpc_service *const local_services[] = {
	&agent_service, &copy_service, &replica_service, &backup_service, &node_service, NULL};

static const struct rpc_service *const kubelet_services[] = {&registration_service, NULL};

static void on_hangup(void *arg)
{
	struct node *node = arg;

	if (node->catalog)
		catalog_rescan(node->catalog);
}

/* Reserve space for zfs-fuse (fuse_reserve). A failure, as on a full pool, is logged only once. */
static void reserve(struct catalog *catalog)
{
	static bool logged;
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct catalog_pool pool;
	struct error err;

	catalog_pool(catalog, &arena, &pool);
	if (fuse_reserve(catalog_parent(catalog), pool.reserved, &err) == 0 || logged)
		return;
	logged = true;
	log_warn("cannot reserve space for detaching and deleting volumes when the pool is full",
		 log_str("error", err.text));
}

/*
 * Repair exports, empty the trash and reserve space after a reading of the pool (catalog_on_read).
 */
static void on_read(struct catalog *catalog, void *arg)
{
	exports_heal(arg);
	end_renames(catalog);
	reaper_run(catalog, arg);
	low_space_run(catalog, arg);
	reserve(catalog);
}

/*
 * Stop all streams and the reading of the pool, because some calls still run a while after SIGTERM:
 * a stream may run for hours, and calls may wait for a reading that hangs.
 */
static void on_overdue(void *arg)
{
	struct node *node = arg;

	program_stream_stop_all(node->copies);
	if (node->catalog)
		catalog_stop(node->catalog);
}

/* Serve `local` at the unix sockets among the endpoints, and `offer` at the others. */
static int listen_at(struct server *server, const struct option_list *endpoints,
		     const struct server_offer *local, const struct server_offer *offer,
		     struct error *err)
{
	struct endpoint endpoint;

	for (size_t i = 0; i < endpoints->n; i++) {
		if (endpoint_parse(endpoints->values[i], &endpoint, err) < 0 ||
		    server_listen(server, endpoints->values[i], endpoint.is_unix ? local : offer,
				  err) < 0)
			return -1;
		log_info("daemon is listening", log_str("endpoint", endpoints->values[i]));
	}
	return 0;
}

/*
 * Listen at the socket of --registration. The CSI socket exists already, because kubelet calls it
 * at once.
 */
static int listen_for_kubelet(struct server *server, const struct settings *settings,
			      struct error *err)
{
	const struct server_offer offer = {kubelet_services, (void *)settings->socket.path,
					   settings->trust};

	if (!settings->registration)
		return 0;
	if (server_listen(server, settings->registration, &offer, err) < 0)
		return -1;
	log_info("daemon is listening for kubelet", log_str("endpoint", settings->registration));
	return 0;
}

static int begin(struct daemon *daemon, struct node *node, const struct settings *settings,
		 struct feed **ret_feed, struct rounds **ret_herald, struct mender **ret_mender,
		 struct error *err)
{
	static const unsigned lanes[] = LANE_BOUNDS;
	const struct server_offer csi = {csi_services, node, settings->trust};
	const struct server_offer agent = {agent_services, node, settings->trust};
	const struct server_offer local = {local_services, node, settings->trust};
	const struct peers_options peers = {&settings->agents, settings->agents_file,
					    settings->trust};

	if (daemon_init_lanes(daemon, lanes, COUNT(lanes), err) < 0 || zfs_run_stoppable(err) < 0 ||
	    trust_open(settings->trust, err) < 0 ||
	    peers_new(&node->peers, daemon->loop, &peers, err) < 0 ||
	    loop_on_signal(daemon->loop, SIGHUP, on_hangup, node, err) < 0 ||
	    listen_at(daemon->server, &settings->endpoints, &csi, &csi, err) < 0 ||
	    listen_at(daemon->server, &settings->agent_endpoints, &local, &agent, err) < 0 ||
	    listen_for_kubelet(daemon->server, settings, err) < 0)
		return -1;
	node->copies->workers = daemon->workers;
	node->copies->loop = daemon->loop;
	daemon->overdue = on_overdue;
	daemon->overdue_arg = node;
	const struct monitor_app app = {node_metrics, node_ready, node};
	if (monitor_new(&daemon->monitor, daemon->loop, daemon->server, settings->metrics,
			settings->trust->insecure, &app, err) < 0)
		return -1;
	if (!node->catalog)
		return 0;
	*ret_feed = feed_start(node->catalog, err);
	if (!*ret_feed || catalog_start(node->catalog, err) < 0)
		return -1;
	if (pusher_start(&node->copies->pusher, node, daemon->loop, err) < 0 ||
	    keeper_start(&node->keeper, node, daemon->loop, err) < 0)
		return -1;
	if (mover_start(&node->copies->mover, node, daemon->loop, err) < 0 ||
	    backups_start(&node->copies->backups, node, daemon->loop, err) < 0 ||
	    detacher_start(&node->copies->detacher, node, daemon->loop, err) < 0)
		return -1;
	if (herald_start(ret_herald, node, daemon->loop, err) < 0)
		return -1;
	return mender_start(ret_mender, node, daemon->loop, err);
}

static void free_node(void *arg)
{
	struct node *node = arg;

	peers_free(node->peers);
	catalog_free(node->catalog);
	moves_free(node->moves);
	heard_free(node->heard);
	owners_free(node->owners);
	troubles_fini(node->unrepaired);
}

static void use_pool(struct node *node, const struct settings *settings)
{
	if (!settings->dataset)
		return;
	node->catalog = catalog_new(settings->dataset, settings->rescan_seconds);
	catalog_on_read(node->catalog, on_read, node);
	node->size_limits->rows = settings->limits;
	node->size_limits->n = settings->n_limits;
}

/* Stop the threads that send, receive or copy volumes, or take snapshots. */
static void stop_streams(const struct node *node)
{
	detacher_stop(node->copies->detacher);
	backups_stop(node->copies->backups);
	mover_stop(node->copies->mover);
	keeper_stop(node->keeper);
	pusher_stop(node->copies->pusher);
}

static int serve(const struct settings *settings)
{
	static struct asides asides = {.lock = PTHREAD_MUTEX_INITIALIZER};
	static struct claims claims;
	static struct copies copies;
	static struct kept kept;
	static struct size_limits size_limits = {.lock = PTHREAD_MUTEX_INITIALIZER};
	static struct troubles unrepaired = {.lock = PTHREAD_MUTEX_INITIALIZER};
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	auto_free char *advice = data_dir_advice(&settings->endpoints);
	struct node node = {.id = settings->node_id,
			    .boot = owner_boot(&arena),
			    .asides = settings->dataset ? &asides : NULL,
			    .claims = &claims,
			    .copies = &copies,
			    .kept = &kept,
			    .size_limits = &size_limits,
			    .moves = moves_new(),
			    .heard = heard_new(),
			    .owners = owners_new(),
			    .unrepaired = &unrepaired,
			    .settings = settings,
			    .topology = settings->topology,
			    .n_topology = settings->n_topology,
			    .trash_ttl = settings->trash_ttl,
			    .trash_free = settings->trash_free,
			    .address = settings->address,
			    .max_volumes = settings->max_volumes,
			    .data_dir_advice = advice};
	struct rounds *herald = NULL;
	struct mender *mender = NULL;
	struct feed *feed = NULL;
	struct daemon daemon;
	struct error err;

	kept_open(&kept, settings->cache, settings->node_id);
	use_pool(&node, settings);
	int failed = begin(&daemon, &node, settings, &feed, &herald, &mender, &err);
	if (failed)
		log_error("cannot start", log_str("error", err.text));
	else
		daemon_run(&daemon);
	mender_stop(mender);
	rounds_stop(herald);
	stop_streams(&node);
	feed_stop(feed);
	daemon_fini(&daemon, free_node, &node);
	trust_close(settings->trust);
	kept_close(&kept);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Set how zfs is run, and drop the privileges that zcsi-node does not need. */
static int restrain(const struct settings *settings, struct error *err)
{
	if (argv_run_as(settings->zfs_user, err) < 0 || ssh_to(settings->zfs_over_ssh, err) < 0)
		return -1;
	zfs_run_set_timeout((int64_t)settings->zfs_timeout_seconds * 1000);
	return privileges_keep(settings->zfs_user != NULL, err);
}

int main(int argc, char **argv)
{
	struct settings settings;
	struct error err;
	int status = EXIT_SUCCESS;

	int done = settings_parse(argc, argv, &settings, &err);
	if (!done)
		done = restrain(&settings, &err);
	if (done < 0) {
		fprintf(stderr, "zcsi-node: %s\n", err.text);
		status = EXIT_FAILURE;
	} else if (!done && settings.check) {
		status = check_report(&settings, stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
	} else if (!done) {
		status = serve(&settings);
	}
	settings_fini(&settings);
	return status;
}
