/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi failover: other nodes take the volumes of lost nodes over, with the copies that they have.
 * The nodes carry it out; this command shows what would be lost, and begins it.
 *
 * Invariant: nothing begins unless the operator has accepted the loss of every volume in question.
 */
#include "controller/cli/failover/plan.h"

#include <string.h>

#include "controller/cli/dry_run.h"
#include "controller/cli/failover/who.h"
#include "controller/cli/print/amount.h"
#include "controller/request/parameter_value.h"

#define USEC      1000000
#define AT_A_TIME 8      /* calls at the same time; a node serves as many */
#define CALL_MS   120000 /* a node waits for lost and other nodes, and for zfs */

static struct table table_of(struct cli *cli, const struct failover_plan *plan)
{
	static const struct column columns[] = {
		{"volume", CELL_TEXT},   {"to", CELL_TEXT},    {"has_all_before", CELL_MOMENT},
		{"may_lose", CELL_TEXT}, {"state", CELL_TEXT}, {"why", CELL_TEXT}};
	struct cell(*cells)[COUNT(columns)] =
		arena_alloc(&cli->arena, (plan->n + 1) * sizeof(*cells));

	for (size_t i = 0; i < plan->n; i++) {
		const struct takeover *row = &plan->rows[i];
		const struct cell line[] = {
			{.text = row->id},
			{.text = row->to ? row->to->node : NULL},
			{.number = row->copy ? row->copy->synced / USEC : -1},
			{.text = row->may_lose < 0 ? NULL
						   : amount_time(&cli->arena, row->may_lose)},
			{.text = row->done  ? "taken over"
				 : row->why ? "stays"
					    : "waits"},
			{.text = row->why || row->done ? row->why : row->note},
		};
		memcpy(cells[i], line, sizeof(line));
	}
	return (struct table){"volumes", columns, COUNT(columns), *cells, plan->n, false};
}

static struct client_call *begin(struct cli *cli, const struct takeover *row, int64_t accepted)
{
	FailoverRequest *request = new_failover_request(&cli->arena);

	request->id = (char *)row->id;
	request->lineage = row->copy->copy->lineage;
	request->epoch = row->epoch;
	request->guid = row->copy->copy->snapshots[0]->guid;
	request->accepted_loss = accepted;
	request->by = who_runs(&cli->arena);
	request->lost_node_ids =
		arena_alloc(&cli->arena, cli->lost->n * sizeof(*request->lost_node_ids));
	for (size_t i = 0; i < row->copy->copy->n_node_ids; i++)
		if (failover_is_lost(cli, row->copy->copy->node_ids[i]))
			request->lost_node_ids[request->n_lost_node_ids++] =
				row->copy->copy->node_ids[i];
	return fleet_begin_long(cli->fleet, &cli->arena, row->to->at, "Failover", &request->base,
				CALL_MS);
}

static void finish(struct cli *cli, struct takeover *row, struct client_call *call)
{
	FailoverResponse *response;
	struct error err;

	row->done = client_finish(call, &response, &err) == 0;
	if (!row->done)
		row->why = arena_strdup(&cli->arena, err.text);
}

/* Take over all volumes that can be, a few at a time. */
static void carry_out(struct cli *cli, struct failover_plan *plan, int64_t accepted)
{
	struct client_call *calls[AT_A_TIME];
	struct takeover *rows[AT_A_TIME];
	size_t begun = 0, ended = 0;

	for (size_t i = 0; i < plan->n; i++) {
		if (plan->rows[i].why)
			continue;
		if (begun - ended == AT_A_TIME) {
			finish(cli, rows[ended % AT_A_TIME], calls[ended % AT_A_TIME]);
			ended++;
		}
		rows[begun % AT_A_TIME] = &plan->rows[i];
		calls[begun++ % AT_A_TIME] = begin(cli, &plan->rows[i], accepted);
	}
	for (; ended < begun; ended++)
		finish(cli, rows[ended % AT_A_TIME], calls[ended % AT_A_TIME]);
}

/* Returns how many volumes are not taken over; *ret_loss is the most that another may lose. */
static size_t count(const struct failover_plan *plan, int64_t *ret_loss)
{
	size_t n = 0;

	*ret_loss = 0;
	for (size_t i = 0; i < plan->n; i++) {
		n += plan->rows[i].why != NULL;
		if (!plan->rows[i].why && plan->rows[i].may_lose > *ret_loss)
			*ret_loss = plan->rows[i].may_lose;
	}
	return n;
}

/* Returns the shortest --accept-loss for so many seconds, with a minute to spare. */
static char *as_option(struct arena *arena, int64_t seconds)
{
	return arena_printf(arena, "--accept-loss %lldm", (long long)(seconds / 60 + 2));
}

static int check_options(struct cli *cli, int64_t *ret_accepted, struct error *err)
{
	*ret_accepted = -1;
	if (!cli->lost->n)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "the lost node is not given: add --lost NODE");
	if (!cli->accept_loss)
		return 0;
	*ret_accepted = (int64_t)parameter_value_seconds(cli->accept_loss);
	if (!*ret_accepted)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "--accept-loss '%s' is not a time such as 90s, 5m, 2h or 1d",
			    cli->accept_loss);
	return 0;
}

static int check_accepted(struct cli *cli, int64_t loss, int64_t accepted, struct error *err)
{
	if (loss <= accepted || cli->dry_run)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "nothing was done, since up to the last %s of writes may be lost: to take the "
		    "volumes over nevertheless, add %s",
		    amount_time(&cli->arena, loss), as_option(&cli->arena, loss));
}

static int fail_over(struct cli *cli, struct failover_plan *plan, int64_t accepted,
		     struct error *err)
{
	int64_t loss;
	size_t stay = count(plan, &loss);
	int failed = stay < plan->n ? check_accepted(cli, loss, accepted, err) : 0;

	if (!failed && !cli->dry_run)
		carry_out(cli, plan, accepted);
	/* Print no warning about agents that do not answer, since those of lost nodes never do. */
	const struct table table = table_of(cli, plan);
	table_print(stdout, &table, &cli->style, NULL, 0);
	stay = count(plan, &loss);
	if (failed || !stay)
		return failed;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "%zu of %zu volumes are not taken over: see why, and run the command again",
		    stay, plan->n);
}

int cli_failover(struct cli *cli, struct error *err)
{
	const char *id = cli->n_args ? cli->args[0] : NULL;
	struct failover_plan plan;
	int64_t accepted;

	if (check_options(cli, &accepted, err) < 0 || failover_plan_make(cli, id, &plan, err) < 0)
		return -1;
	if (id && !plan.n)
		return fail(err, ERR_NOT_FOUND,
			    "no node that answers has a copy of volume '%s'; 'zcsi why %s' says "
			    "what is known of it",
			    id, id);
	return fail_over(cli, &plan, accepted, err);
}

int cli_confirm(struct cli *cli, struct error *err)
{
	ConfirmRequest *request = new_confirm_request(&cli->arena);
	const struct owned *volume;

	if (cli_volume(cli, cli->args[0], &volume, err) < 0)
		return -1;
	request->id = arena_strdup(&cli->arena, cli->args[0]);
	request->by = who_runs(&cli->arena);
	const struct change change = {
		volume->owner, "Confirm", &request->base,
		arena_printf(
			&cli->arena,
			"use volume '%s' on node '%s', even if nodes with copies do not answer",
			volume->id, volume->owner->node)};
	return dry_run_or_send(cli, &change, err);
}
