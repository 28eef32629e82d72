/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_KNOWN_H
#define ZCSI_CLI_KNOWN_H

/* The hosts and their names that agents keep for controllers. Answers live in the arena. */

#include "controller/cli/cli.h"

/*
 * known_ask returns the answers of all agents to ListKnownHosts, known_in the hosts in these
 * answers, like known_hosts.
 */
const struct reply *known_ask(struct cli *cli);
const KnownHost *const *known_in(struct cli *cli, const struct reply *replies, size_t *ret_n);
/* Returns the hosts of which agents have records, each once, by its latest record. */
const KnownHost *const *known_hosts(struct cli *cli, size_t *ret_n);
/* Returns the latest names that an agent keeps of a node, or NULL if none does. */
const GetKeptNamesResponse *known_names(struct cli *cli, const char *node_id);
/* Returns true if a volume of this name is among the names. */
bool known_volume(const GetKeptNamesResponse *names, const char *id);
/* Returns true if the host's endpoint was asked, or its agent answers at another endpoint. */
bool known_listed(const struct cli *cli, const KnownHost *host);

#endif
