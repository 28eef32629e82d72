/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Metrics of the agents.
 *
 * Invariant: the values come from the last roll call and from the state of the connections; no
 * request is sent to an agent for them.
 */
#include "controller/roster.h"

#include "common/metrics.h"
#include "controller/agents.h"

static const struct metric known = METRIC(GAUGE, "zcsi_agents", "Agents on the list.");
static const struct metric reachable =
	METRIC(GAUGE, "zcsi_agents_reachable", "Agents on the list that are up.");
static const struct metric left = METRIC(COUNTER, "zcsi_agents_left_total",
					 "Agents that left the list since the controller's start.");
static const struct metric absent =
	METRIC(GAUGE, "zcsi_agents_absent", "Hosts off the list whose names are remembered.");
static const struct metric up = METRIC(
	GAUGE, "zcsi_agent_up", "0: the agent did not answer the last roll call.", "endpoint");
static const struct metric refused =
	METRIC(GAUGE, "zcsi_agent_refused", "1: the agent is refused because of its identity.",
	       "endpoint");
static const struct metric lost =
	METRIC(GAUGE, "zcsi_agent_assumed_lost", "1: the agent is assumed lost and is not asked.",
	       "endpoint");
static const struct metric skew =
	METRIC(GAUGE, "zcsi_agent_clock_skew_seconds",
	       "By how much the agent's clock is ahead of the controller's.", "endpoint");
static const struct metric info =
	METRIC(GAUGE, "zcsi_agent_info", "Always 1.", "endpoint", "node", "version");

static bool is_up(const struct agent *agent)
{
	return client_is_up(agent->client) && (agent->state.up || !agent->state.asked);
}

struct column {
	const struct metric *metric;
	double (*value)(const struct agent *agent);
};

static double value_up(const struct agent *agent)
{
	return is_up(agent);
}

static double value_refused(const struct agent *agent)
{
	return agent->state.refusal != NULL;
}

static double value_lost(const struct agent *agent)
{
	return agent->state.lost;
}

static double value_skew(const struct agent *agent)
{
	return (double)agent->state.skew_us / 1e6;
}

static const struct column columns[] = {
	{&up, value_up}, {&refused, value_refused}, {&lost, value_lost}, {&skew, value_skew}};

static void write_info(const struct agent_set *set, FILE *out)
{
	metric_head(&info, out);
	for (size_t i = 0; i < set->n; i++) {
		const struct agent_state *state = &set->list[i]->state;
		if (state->node_id)
			metric_sample(&info, out, 1, client_endpoint(set->list[i]->client),
				      state->node_id, state->version);
	}
}

void roster_metrics(struct roster *roster, FILE *out)
{
	scoped_lock(&roster->lock);
	const struct agent_set *set = roster->named;
	size_t n_up = 0, n_absent = 0;

	for (size_t c = 0; c < COUNT(columns); c++) {
		metric_head(columns[c].metric, out);
		for (size_t i = 0; i < set->n; i++)
			metric_sample(columns[c].metric, out, columns[c].value(set->list[i]),
				      client_endpoint(set->list[i]->client));
	}
	for (size_t i = 0; i < set->n; i++)
		n_up += is_up(set->list[i]);
	write_info(set, out);
	metric_head(&known, out);
	metric_sample(&known, out, (double)set->n);
	metric_head(&left, out);
	metric_sample(&left, out, roster->left);
	for (const struct absent *host = roster->absent; host; host = host->next)
		n_absent++;
	metric_head(&absent, out);
	metric_sample(&absent, out, (double)n_absent);
	metric_head(&reachable, out);
	metric_sample(&reachable, out, (double)n_up);
}
