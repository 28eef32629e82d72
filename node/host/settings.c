/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The options of zcsi-node, and the checks of their values.
 *
 * Invariant: settings_parse accepts only a node id and a topology that CSI allows, and a dataset
 * name that ZFS allows. The error text of a wrong value says what to give instead.
 */
#include "node/host/settings.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/volume/plugin.h"
#include "node/host/address.h"
#include "node/host/data_dir.h"
#include "transport/monitor.h"

#define NODE_ID_MAX       256       /* csi.proto, NodeGetInfoResponse.node_id */
#define TOPOLOGY_NAME_MAX 63        /* bytes of a prefix, name or value (csi.proto, Topology) */
#define TRASH_TTL_MAX     315360000 /* ten years */
#define TRASH_FREE_MAX    90        /* percent */
#define MAX_VOLUMES_MAX   1000000

/* The values of the options as text, before they are checked. */
static struct {
	struct option_list endpoints, agent_endpoints, agents, topology, limits;
	const char *node_id, *dataset, *rescan, *zfs_timeout, *trash_ttl, *trash_free, *max_volumes,
		*overcommit, *log_level, *log_format, *address, *zfs_user, *zfs_over_ssh,
		*nomad_data_dir, *cache, *agents_file, *registration;
	const char *metrics;
	bool check;
	struct trust trust;
} given;

static char host_name[HOST_NAME_MAX + 1];

static const struct option_row options[] = {
	{"endpoint", "CSI_ENDPOINT", "ENDPOINT", "unix:///run/zcsi/node.sock",
	 "Serve CSI Identity and Node here: unix:///PATH or tcp://HOST:PORT. Repeatable.",
	 .ret_list = &given.endpoints},
	{"agent-endpoint", "ZCSI_AGENT_ENDPOINT", "ENDPOINT", "unix:///run/zcsi/agent.sock",
	 "Serve zcsi.v1.Agent here, for controllers. Repeatable.",
	 .ret_list = &given.agent_endpoints},
	{"registration", "ZCSI_REGISTRATION", "ENDPOINT", NULL,
	 "On Kubernetes: a unix socket in kubelet's folder plugins_registry, by which "
	 "--endpoint is registered. Both have the same path for kubelet as here.",
	 .ret_text = &given.registration},
	{"agent", "ZCSI_AGENT", "ENDPOINT", NULL,
	 "An agent: the --agent-endpoint of another zcsi-node, to which copies of volumes are "
	 "sent. Repeatable; our own may be among them.",
	 .ret_list = &given.agents},
	{"agents-file", "ZCSI_AGENTS_FILE", "PATH", NULL,
	 "More agents, an endpoint a line; read whenever a node is called.",
	 .ret_text = &given.agents_file},
	{"node-id", "ZCSI_NODE_ID", "ID", NULL,
	 "The name of this node for the orchestrator and the controllers; 1 to 256 bytes. Without "
	 "it, the host name.",
	 .ret_text = &given.node_id},
	{"topology", "ZCSI_TOPOLOGY", "KEY=VALUE", NULL,
	 "A topology segment of this node, for placing volumes. Repeatable. " PLUGIN_TOPOLOGY_KEY
	 "=<node id> is "
	 "added, unless you give that key: a volume's data is on its node alone.",
	 .ret_list = &given.topology},
	{"dataset", "ZCSI_DATASET", "POOL/PARENT", NULL,
	 "The dataset below which this node's volumes are. Without it, a node without a pool.",
	 .ret_text = &given.dataset},
	{"address", "ZCSI_ADDRESS", "ADDRESS", NULL,
	 "The IP address that this host's volumes are mounted from and that its own mounts come "
	 "from, for attach=nfs. Without it, the one where the default route leads, or the HOST of "
	 "--zfs-over-ssh.",
	 .ret_text = &given.address},
	{"zfs-user", "ZCSI_ZFS_USER", "NAME", NULL,
	 "Run every zfs and zpool as this user, to whom 'zfs allow' gives what --check names. "
	 "Without it, as zcsi-node itself runs. Mounting, devices and NFS stay zcsi-node's own.",
	 .ret_text = &given.zfs_user},
	{"zfs-over-ssh", "ZCSI_ZFS_OVER_SSH", "USER@HOST", NULL,
	 "Run every zfs and zpool on this server, which has the pool and nothing of zcsi, by ssh, "
	 "with the keys and known_hosts of the user of zcsi-node. Its volumes are used by NFS "
	 "alone. Without it, here.",
	 .ret_text = &given.zfs_over_ssh},
	{"rescan", "ZCSI_RESCAN", "SECONDS", "30",
	 "How often to look for what others changed in the pool; after a look, it rests ten times "
	 "as long as that took at least. Where 'zpool events' reports changes it looks every tenth "
	 "time only.",
	 .ret_text = &given.rescan},
	{"zfs-timeout", "ZCSI_ZFS_TIMEOUT", "SECONDS", "120",
	 "How long a zfs may take before the call that it is for fails. It is not killed, because "
	 "ZFS may still do what it asked for, and until it has ended all calls for the pool are "
	 "UNAVAILABLE.",
	 .ret_text = &given.zfs_timeout},
	{"trash-ttl", "ZCSI_TRASH_TTL", "SECONDS", "0",
	 "How long a deleted volume is kept below POOL/PARENT/_trash. One that has snapshots is "
	 "kept as long as they are, in any case.",
	 .ret_text = &given.trash_ttl},
	{"trash-free", "ZCSI_TRASH_FREE", "PERCENT", "5",
	 "When less of the pool is free, destroy deleted volumes before the time of --trash-ttl is "
	 "over, the oldest first, until so much is free. 0 never does.",
	 .ret_text = &given.trash_free},
	{"max-volumes", "ZCSI_MAX_VOLUMES", "N", "0",
	 "How many volumes may be attached to one node at a time; 0 is no limit.",
	 .ret_text = &given.max_volumes},
	{"overcommit", "ZCSI_OVERCOMMIT", "RATIO", "0",
	 "The sizes of all volumes here may be so many times the size of the pool together, like "
	 "1.5; no volume is created or grown beyond that. 0 is no limit.",
	 .ret_text = &given.overcommit},
	{"limit", "ZCSI_LIMIT", "PREFIX=BYTES", NULL,
	 "The sizes of those volumes here whose names begin with PREFIX may be so many bytes "
	 "together, like prod-=500G. Repeatable.",
	 .ret_list = &given.limits},
	{"nomad-data-dir", "ZCSI_NOMAD_DATA_DIR", "DIR", NULL,
	 "The data_dir in the job of Nomad. zcsi-node does not start where it is not the client's "
	 "data_dir, as CSI_ENDPOINT shows it.",
	 .ret_text = &given.nomad_data_dir},
	{"cache", "ZCSI_CACHE", "DIR", "/var/cache/zcsi",
	 "The folder for the names that other hosts have, kept for controllers. It may be lost. "
	 "Empty keeps none.",
	 .ret_text = &given.cache},
	{"log-level", "ZCSI_LOG_LEVEL", "LEVEL", "info", "debug, info, warn or error.",
	 .ret_text = &given.log_level},
	{"log-format", "ZCSI_LOG_FORMAT", "FORMAT", "logfmt", "logfmt or json.",
	 .ret_text = &given.log_format},
	MONITOR_OPTION(given.metrics),
	{"check", "ZCSI_CHECK", NULL, NULL,
	 "Do not serve: print what this host has of what its volumes need, with these options, a "
	 "line each: ok, optional or MISSING, and what to do. Changes nothing; ends with 1 when "
	 "something is MISSING.",
	 .ret_flag = &given.check},
	TRUST_OPTIONS(given.trust),
};

static const struct program program = {
	.name = "zcsi-node",
	.version = ZCSI_VERSION,
	.summary = "Mounts ZFS volumes on this host and keeps those in its pool. Needs root.",
	.trailer = "SIGTERM and SIGINT finish what runs and exit 0; a second one exits at once.\n"
		   "SIGHUP: read the pool again.",
	.options = options,
	.n_options = COUNT(options),
};

static int parse_number(const char *option, const char *text, long min, long max, unsigned *ret,
			struct error *err)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (end == text || *end || number < min || number > max)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "--%s '%s' is not a whole number from %ld to %ld", option, text, min,
			    max);
	*ret = (unsigned)number;
	return 0;
}

static int parse_numbers(struct settings *settings, struct error *err)
{
	const struct {
		const char *option, *text;
		long min, max;
		unsigned *ret;
	} rows[] = {
		{"rescan", given.rescan, 1, 86400, &settings->rescan_seconds},
		{"zfs-timeout", given.zfs_timeout, 1, 86400, &settings->zfs_timeout_seconds},
		{"trash-ttl", given.trash_ttl, 0, TRASH_TTL_MAX, &settings->trash_ttl},
		{"trash-free", given.trash_free, 0, TRASH_FREE_MAX, &settings->trash_free},
		{"max-volumes", given.max_volumes, 0, MAX_VOLUMES_MAX, &settings->max_volumes},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (parse_number(rows[i].option, rows[i].text, rows[i].min, rows[i].max,
				 rows[i].ret, err) < 0)
			return -1;
	return 0;
}

/* Check that the name is pool/parent, without characters that are special to a shell or to zfs. */
static int check_dataset(const char *name, struct error *err)
{
	const char *slash = strchr(name, '/');
	bool good = isalpha((unsigned char)*name) && slash && strlen(name) <= DATASET_PARENT_MAX;

	for (const char *c = name; good && *c; c++)
		good = isalnum((unsigned char)*c) || strchr("_-.:/", *c);
	for (; good && slash; slash = strchr(slash + 1, '/'))
		good = isalnum((unsigned char)slash[1]);
	if (good)
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "--dataset '%.128s' is not the name of a dataset below a pool of at most %d "
		    "bytes; use POOL/PARENT, like tank/zcsi",
		    name, DATASET_PARENT_MAX);
}

static int parse_address(struct settings *settings, struct error *err)
{
	const char *at = settings->zfs_over_ssh ? strchr(settings->zfs_over_ssh, '@') : NULL;

	settings->address = given.address ? given.address : at ? at + 1 : "";
	if (!given.address || !*given.address || address_is(given.address))
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "--address '%.128s' is not an IP address; use one of this host's, like "
		    "10.0.0.7",
		    settings->address);
}

static int parse_node_id(struct settings *settings, struct error *err)
{
	if (!given.node_id && gethostname(host_name, sizeof(host_name) - 1))
		return fail_errno(err, "cannot get the host name; give --node-id");
	settings->node_id = given.node_id ? given.node_id : host_name;
	if (!*settings->node_id || strlen(settings->node_id) > NODE_ID_MAX)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "--node-id must have 1 to %d bytes; it has %zu", NODE_ID_MAX,
			    strlen(settings->node_id));
	return 0;
}

/*
 * Returns true for a name or value that csi.proto allows in a Topology: letters, digits and -_.,
 * with a letter or digit at both ends.
 */
static bool is_label(const char *text, size_t length)
{
	bool good = length >= 1 && length <= TOPOLOGY_NAME_MAX && isalnum((unsigned char)text[0]) &&
		    isalnum((unsigned char)text[length - 1]);

	for (size_t i = 0; good && i < length; i++)
		good = isalnum((unsigned char)text[i]) || strchr("-_.", text[i]);
	return good;
}

static bool is_segment(const char *text)
{
	const char *equals = strchr(text, '=');

	if (!equals)
		return false;
	const char *slash = memchr(text, '/', (size_t)(equals - text));
	const char *name = slash ? slash + 1 : text;
	return (!slash || is_label(text, (size_t)(slash - text))) &&
	       is_label(name, (size_t)(equals - name)) && is_label(equals + 1, strlen(equals + 1));
}

static int add_segment(struct settings *settings, const char *text, struct error *err)
{
	if (!is_segment(text))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "topology '%.300s' is not KEY=VALUE of letters, digits and -_., at "
			    "most %d bytes each; use --topology, like %s=host-1",
			    text, TOPOLOGY_NAME_MAX, PLUGIN_TOPOLOGY_KEY);
	char *key = mem_strdup(text);
	char *value = strchr(key, '=');
	*value++ = '\0';
	struct topology_segment *last = &settings->topology[settings->n_topology++];
	*last = (struct topology_segment){.key = key, .value = value};
	for (struct topology_segment *other = settings->topology; other < last; other++)
		if (!strcasecmp(other->key, key))
			return fail(err, ERR_INVALID_ARGUMENT,
				    "--topology gives the key '%s' twice; give it once", key);
	return 0;
}

static int parse_topology(struct settings *settings, struct error *err)
{
	auto_free char *own = NULL;

	settings->topology = mem_alloc((given.topology.n + 1) * sizeof(*settings->topology));
	for (size_t i = 0; i < given.topology.n; i++)
		if (add_segment(settings, given.topology.values[i], err) < 0)
			return -1;
	for (size_t i = 0; i < settings->n_topology; i++)
		if (!strcasecmp(settings->topology[i].key, PLUGIN_TOPOLOGY_KEY))
			return 0;
	if (asprintf(&own, "%s=%s", PLUGIN_TOPOLOGY_KEY, settings->node_id) < 0)
		abort();
	return add_segment(settings, own, err);
}

/* kubelet calls unix sockets only. */
static int parse_registration(struct settings *settings, struct error *err)
{
	struct endpoint own;

	if (!settings->registration)
		return 0;
	if (endpoint_parse(settings->registration, &own, err) < 0)
		return -1;
	for (size_t i = 0; i < settings->endpoints.n && !settings->socket.is_unix; i++)
		if (endpoint_parse(settings->endpoints.values[i], &settings->socket, err) < 0)
			return -1;
	if (own.is_unix && settings->socket.is_unix)
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "--registration needs a unix socket, and an --endpoint that is one too; use "
		    "--registration unix:///var/lib/kubelet/plugins_registry/zcsi.sock and "
		    "--endpoint unix:///var/lib/kubelet/plugins/zcsi/csi.sock");
}

static const char *given_or_null(const char *text)
{
	return text && *text ? text : NULL;
}

static int check_place(const struct settings *settings, struct error *err)
{
	if (settings->zfs_over_ssh && settings->zfs_user)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "--zfs-over-ssh and --zfs-user exclude each other; zfs runs on the "
			    "server as the USER of USER@HOST");
	if (settings->zfs_over_ssh && !settings->dataset)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "--zfs-over-ssh needs --dataset, the parent of the volumes there");
	return 0;
}

int settings_parse(int argc, char **argv, struct settings *ret, struct error *err)
{
	int done = options_parse(&program, argc, argv, err);

	*ret = (struct settings){0};
	if (done)
		return done;
	ret->endpoints = given.endpoints;
	ret->agent_endpoints = given.agent_endpoints;
	ret->registration = given_or_null(given.registration);
	ret->agents = given.agents;
	ret->agents_file = given_or_null(given.agents_file);
	ret->trust = &given.trust;
	ret->metrics = given.metrics;
	ret->cache = given.cache;
	ret->check = given.check;
	ret->zfs_user = given_or_null(given.zfs_user);
	ret->zfs_over_ssh = given_or_null(given.zfs_over_ssh);
	ret->dataset = given_or_null(given.dataset);
	if (ret->dataset && check_dataset(ret->dataset, err) < 0)
		return -1;
	if (log_setup(given.log_level, given.log_format, err) < 0 || parse_numbers(ret, err) < 0 ||
	    data_dir_check(given_or_null(given.nomad_data_dir), &ret->endpoints, err) < 0 ||
	    parse_registration(ret, err) < 0 || check_place(ret, err) < 0 ||
	    parse_address(ret, err) < 0 || parse_node_id(ret, err) < 0 ||
	    size_limits_parse(given.overcommit, &given.limits, &ret->limits, &ret->n_limits, err) <
		    0)
		return -1;
	return parse_topology(ret, err);
}

void settings_fini(struct settings *settings)
{
	for (size_t i = 0; i < settings->n_topology; i++)
		free((char *)settings->topology[i].key);
	free(settings->topology);
	size_limits_free(settings->limits, settings->n_limits);
	options_fini(&program);
}
