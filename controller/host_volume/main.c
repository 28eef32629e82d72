/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi-host-volume: Nomad's plugin for dynamic host volumes. Nomad runs it in the client's
 * host_volume_plugin_dir, with an operation and variables, and reads JSON from stdout.
 *
 * Invariant: stdout has one object of JSON and nothing else. An error is in the object too, because
 * Nomad shows that to its user, and stderr only in the client's log.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/options.h"
#include "controller/cli/print/json.h"
#include "controller/host_volume/host_volume.h"
#include "transport/trust.h"

#define PAUSE_MS 250

static struct option_list words;
static const char *agent, *timeout_text;

static const struct option_row options[] = {
	{.name = "agent",
	 .metavar = "ENDPOINT",
	 .fallback = "unix:///run/zcsi/agent.sock",
	 .help = "The --agent-endpoint of this host's zcsi-node: a unix socket.",
	 .ret_text = &agent},
	{.name = "timeout",
	 .metavar = "SECONDS",
	 .fallback = "40",
	 .help = "How long to wait for it, also for its start. Nomad waits for 60, and for 50 when "
		 "a client starts.",
	 .ret_text = &timeout_text},
};

static int run_once(struct local *local, enum operation operation, const struct request *request,
		    int64_t *ret_size, struct error *err)
{
	return operation == CREATE ? create_run(local, request, ret_size, err)
				   : delete_run(local, request, err);
}

/* Repeat the operation while zcsi-node is not ready: after a boot it starts together with Nomad. */
static int run_until_ready(struct local *local, enum operation operation,
			   const struct request *request, int64_t *ret_size, struct error *err)
{
	int failed = run_once(local, operation, request, ret_size, err);

	while (failed && err->code == ERR_UNAVAILABLE && time_left_ms(local->deadline) > PAUSE_MS) {
		struct error again = {0};
		poll(NULL, 0, PAUSE_MS);
		failed = run_once(local, operation, request, ret_size, &again);
		if (!failed || again.code != ERR_DEADLINE_EXCEEDED)
			*err = again;
	}
	return failed;
}

static void print_volume(const struct request *request, int64_t size)
{
	fputs("{\"path\": ", stdout);
	json_text(stdout, request->path);
	printf(", \"bytes\": %" PRId64 "}\n", size);
}

static int call(struct arena *arena, enum operation operation, struct error *err)
{
	static const struct trust no_trust;
	const struct option_list named = {&agent, 1};
	const struct fleet_options wanted = {.named = &named, .trust = &no_trust};
	struct local local = {.arena = arena};
	struct request request;
	int64_t timeout_ms, size = 0;

	if (fleet_timeout(timeout_text, &timeout_ms, err) < 0)
		return -1;
	local.deadline = now_ms() + timeout_ms;
	if (request_parse(arena, operation, getenv, &request, err) < 0 ||
	    fleet_open(&local.fleet, &wanted, err) < 0)
		return -1;
	int failed = run_until_ready(&local, operation, &request, &size, err);
	fleet_close(local.fleet);
	if (failed)
		return -1;
	if (operation == CREATE)
		print_volume(&request, size);
	else
		puts("{}");
	return 0;
}

static int execute(struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	enum operation operation;

	if (words.n != 1)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "give one operation: fingerprint, create or delete");
	if (operation_parse(words.values[0], &operation, err) < 0)
		return -1;
	if (operation == FINGERPRINT)
		return printf("{\"version\": \"%s\"}\n", ZCSI_VERSION) < 0;
	return call(&arena, operation, err);
}

static void print_error(const struct error *err)
{
	fputs("{\"error\": ", stdout);
	json_text(stdout, err->text);
	puts("}");
	fprintf(stderr, "zcsi-host-volume: %s\n", err->text);
}

int main(int argc, char **argv)
{
	const struct program program = {
		.name = "zcsi-host-volume",
		.version = ZCSI_VERSION,
		.summary = "Nomad's plugin for dynamic host volumes: Nomad runs it, and the "
			   "zcsi-node of this host makes the volumes. See zcsi-host-volume(8).",
		.options = options,
		.n_options = COUNT(options),
		.usage = "fingerprint|create|delete",
		.ret_arguments = &words,
	};
	struct error err = {0};
	int result = options_parse(&program, argc, argv, &err);

	if (result == 0 && log_setup("error", "logfmt", &err) == 0)
		result = execute(&err);
	if (err.code != ERR_OK)
		print_error(&err);
	options_fini(&program);
	if (fflush(stdout) == EOF || ferror(stdout))
		return EXIT_FAILURE;
	return err.code == ERR_OK && result >= 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
