/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi-controller: parses the options, then runs the loop and its server until a signal ends them.
 *
 * Invariant: the controller stores nothing and gets all facts from the agents, so any number of
 * controllers may run at once, and each may be killed at any time.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/options.h"
#include "common/privilege.h"
#include "controller/agents.h"
#include "controller/request/parameter_table.h"
#include "controller/service.h"
#include "transport/daemon.h"

#define SECONDS_MAX 1000000000

static const char default_agent[] = "unix:///run/zcsi/agent.sock";
static struct option_list endpoints, agent_endpoints, forget;
static const char *agents_file, *node, *roll_call, *assume_lost, *forget_after;
static const char *log_level, *log_format, *metrics;
static bool partial_lists;
static struct trust trust;

static const struct option_row options[] = {
	{.name = "endpoint",
	 .env = "CSI_ENDPOINT",
	 .metavar = "ENDPOINT",
	 .fallback = "unix:///run/zcsi/controller.sock",
	 .help = "Where to serve CSI: unix:///path or tcp://host:port.",
	 .ret_list = &endpoints},
	{.name = "agent",
	 .env = "ZCSI_AGENT",
	 .metavar = "ENDPOINT",
	 .fallback = default_agent,
	 .help = "An agent: the --agent-endpoint of a zcsi-node. Repeatable; name them all, for a "
		 "volume is looked for at every one.",
	 .ret_list = &agent_endpoints},
	{.name = "agents-file",
	 .env = "ZCSI_AGENTS_FILE",
	 .metavar = "PATH",
	 .help = "More agents, an endpoint a line; read again whenever it changes. With it, "
		 "--agent has no default.",
	 .ret_text = &agents_file},
	{.name = "node",
	 .env = "ZCSI_NODE",
	 .metavar = "ENDPOINT",
	 .help = "Serve CSI Node too, by the zcsi-node of this host at its --endpoint or at a unix "
		 "socket of its --agent-endpoint; for sidecars that want one socket for all.",
	 .ret_text = &node},
	{.name = "roll-call",
	 .env = "ZCSI_ROLL_CALL",
	 .metavar = "SECONDS",
	 .fallback = "10",
	 .help = "How often each agent is asked who it is; every second while one is down.",
	 .ret_text = &roll_call},
	{.name = "assume-lost",
	 .env = "ZCSI_ASSUME_LOST",
	 .metavar = "SECONDS",
	 .fallback = "0",
	 .help = "Do as if an agent that has not answered for so long had been taken off the list; "
		 "0 is never.",
	 .ret_text = &assume_lost},
	{.name = "forget-after",
	 .env = "ZCSI_FORGET_AFTER",
	 .metavar = "SECONDS",
	 .fallback = "259200",
	 .help = "How long the names are kept that an agent had when it left the list: until then "
		 "they are neither missing nor free.",
	 .ret_text = &forget_after},
	{.name = "forget",
	 .env = "ZCSI_FORGET",
	 .metavar = "NODE",
	 .help = "A node whose host will not come back: the names that it had are free. "
		 "Repeatable; of no effect while its agent is on the list.",
	 .ret_list = &forget},
	{.name = "partial-lists",
	 .env = "ZCSI_PARTIAL_LISTS",
	 .help = "List what the agents that answer have, rather than fail when one does not.",
	 .ret_flag = &partial_lists},
	{.name = "log-level",
	 .env = "ZCSI_LOG_LEVEL",
	 .metavar = "LEVEL",
	 .fallback = "info",
	 .help = "debug, info, warn or error.",
	 .ret_text = &log_level},
	{.name = "log-format",
	 .env = "ZCSI_LOG_FORMAT",
	 .metavar = "FORMAT",
	 .fallback = "logfmt",
	 .help = "logfmt or json.",
	 .ret_text = &log_format},
	MONITOR_OPTION(metrics),
	TRUST_OPTIONS(trust),
};

static char *trailer(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fputs("Parameters of a volume:\n", out);
	parameters_help(out);
	fputs("\nSignals: SIGTERM and SIGINT finish what runs and exit 0; a second one exits\n"
	      "at once. SIGHUP: read --agents-file again.\n",
	      out);
	fclose(out);
	return text;
}

static int parse_seconds(const char *name, const char *text, int64_t min, int64_t *ret_ms,
			 struct error *err)
{
	char *end;
	long long seconds = strtoll(text, &end, 10);

	if (*end || end == text || seconds < min || seconds > SECONDS_MAX)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "--%s '%s' is not a number of seconds from %" PRId64 " to %d", name,
			    text, min, SECONDS_MAX);
	*ret_ms = seconds * 1000;
	return 0;
}

static int parse_agents(struct agents_options *ret, struct error *err)
{
	static const struct option_list none;
	bool by_default = agent_endpoints.n == 1 && agent_endpoints.values[0] == default_agent;

	*ret = (struct agents_options){.named =
					       by_default && agents_file ? &none : &agent_endpoints,
				       .file = agents_file,
				       .node = node && *node ? node : NULL,
				       .trust = &trust,
				       .forget = &forget,
				       .partial_lists = partial_lists};
	if (parse_seconds("roll-call", roll_call, 1, &ret->every_ms, err) < 0 ||
	    parse_seconds("assume-lost", assume_lost, 0, &ret->lost_after_ms, err) < 0)
		return -1;
	return parse_seconds("forget-after", forget_after, 0, &ret->forget_after_ms, err);
}

static void on_hangup(void *agents)
{
	agents_reread(agents);
}

static int start(struct daemon *daemon, struct agents **ret_agents, struct error *err)
{
	static const unsigned lanes[] = LANE_BOUNDS;
	struct agents_options agents;

	if (daemon_init_lanes(daemon, lanes, COUNT(lanes), err) < 0 ||
	    parse_agents(&agents, err) < 0 || trust_open(&trust, err) < 0 ||
	    agents_new(ret_agents, daemon->loop, &agents, err) < 0 ||
	    loop_on_signal(daemon->loop, SIGHUP, on_hangup, *ret_agents, err) < 0)
		return -1;
	const struct server_offer offer = {.services =
						   agents.node ? all_services : controller_services,
					   .app = *ret_agents,
					   .trust = &trust};
	for (size_t i = 0; i < endpoints.n; i++) {
		if (server_listen(daemon->server, endpoints.values[i], &offer, err) < 0)
			return -1;
		log_info("daemon is listening", log_str("endpoint", endpoints.values[i]));
	}
	const struct monitor_app app = {.metrics = agents_metrics, .app = *ret_agents};
	if (monitor_new(&daemon->monitor, daemon->loop, daemon->server, metrics, trust.insecure,
			&app, err) < 0)
		return -1;
	return agents_start(*ret_agents, err);
}

static void free_agents(void *agents)
{
	agents_free(agents);
}

static int serve(void)
{
	struct agents *agents = NULL;
	struct daemon daemon;
	struct error err;
	int result = start(&daemon, &agents, &err);

	if (result == 0)
		daemon_run(&daemon);
	else
		log_error("cannot start", log_str("error", err.text));
	daemon_fini(&daemon, free_agents, agents);
	trust_close(&trust);
	return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	auto_free char *after_options = trailer();
	const struct program program = {
		.name = "zcsi-controller",
		.version = ZCSI_VERSION,
		.summary = "Serves CSI's controller for ZFS volumes: creates, places, attaches, "
			   "grows, snapshots and deletes them through the agents of the hosts that "
			   "hold them.",
		.trailer = after_options,
		.options = options,
		.n_options = COUNT(options),
	};
	int status = EXIT_SUCCESS;
	struct error err;

	int parsed = options_parse(&program, argc, argv, &err);
	if (parsed < 0 || (parsed == 0 && (log_setup(log_level, log_format, &err) < 0 ||
					   privilege_keep(0, &err) < 0))) {
		fprintf(stderr, "zcsi-controller: %s\n", err.text);
		status = EXIT_FAILURE;
	} else if (parsed == 0) {
		status = serve();
	}
	options_fini(&program);
	return status;
}
