/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi-controller: options, the loop and its server, until a signal says stop.
 *
 * Invariant: everything it knows it asks the agents for; nothing is kept, so any number of it may
 * run, and it may be killed at any time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/options.h"
#include "controller/agents.h"
#include "controller/parameter_table.h"
#include "controller/service.h"
#include "transport/daemon.h"

#define N_WORKERS 16 /* they wait for agents; a call in turn behind another takes none */

static struct option_list endpoints, agent_endpoints;
static const char *log_level, *log_format;
static bool insecure;

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
	 .fallback = "unix:///run/zcsi/agent.sock",
	 .help = "An agent: the --agent-endpoint of a zcsi-node. Repeatable; name them all, for a "
		 "volume is looked for at every one.",
	 .ret_list = &agent_endpoints},
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
	{.name = "insecure",
	 .env = "ZCSI_INSECURE",
	 .help = "Serve, and call agents by, plaintext TCP beyond loopback.",
	 .ret_flag = &insecure},
};

static char *trailer(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fputs("Parameters of a volume:\n", out);
	parameters_help(out);
	fputs("\nSignals: SIGTERM and SIGINT finish what runs and exit 0; a second one exits\n"
	      "at once.\n",
	      out);
	fclose(out);
	return text;
}

static int start(struct daemon *daemon, struct agents **ret_agents, struct error *err)
{
	if (daemon_init(daemon, N_WORKERS, err) < 0 ||
	    agents_new(ret_agents, daemon->loop, &agent_endpoints, insecure, err) < 0)
		return -1;
	for (size_t i = 0; i < endpoints.n; i++) {
		if (server_listen(daemon->server, endpoints.values[i], controller_services,
				  *ret_agents, insecure, err) < 0)
			return -1;
		log_info("listening", log_str("endpoint", endpoints.values[i]));
	}
	return 0;
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
	return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	auto_free char *after_options = trailer();
	const struct program program = {
		.name = "zcsi-controller",
		.version = ZCSI_VERSION,
		.summary = "Serves CSI's controller for ZFS volumes: creates, places, publishes, "
			   "grows, snapshots and deletes them through the agents of the hosts that "
			   "hold them.",
		.trailer = after_options,
		.options = options,
		.n_options = COUNT(options),
	};
	int status = EXIT_SUCCESS;
	struct error err;

	int parsed = options_parse(&program, argc, argv, &err);
	if (parsed < 0 || (parsed == 0 && log_setup(log_level, log_format, &err) < 0)) {
		fprintf(stderr, "zcsi-controller: %s\n", err.text);
		status = EXIT_FAILURE;
	} else if (parsed == 0) {
		status = serve();
	}
	options_fini(&program);
	return status;
}
