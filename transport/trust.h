/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TRUST_H
#define ZCSI_TRUST_H

/*
 * Whom a daemon believes and who may call it: options that are the same in every daemon, and what
 * is made of them. With the three files every tcp:// endpoint, served or called, speaks TLS; unix
 * sockets never do: who may open the file may call.
 */

#include <stdbool.h>

#include "common/error.h"
#include "common/options.h"
#include "transport/tls.h"

struct trust {
	const char *ca, *certificate, *key;
	struct option_list allow;
	bool insecure;
	struct tls *tls; /* NULL: plain text */
};

/* Rows for a daemon's table of options; trust is static. */
#define TRUST_OPTIONS(trust)                                                                       \
	TRUST_ROW_("tls-ca", "ZCSI_TLS_CA", "FILE",                                                \
		   "The certificates of the CAs that vouch for others, in PEM. With this, "        \
		   "--tls-cert and --tls-key every tcp:// endpoint speaks mutual TLS. The files "  \
		   "may be replaced at any time.",                                                 \
		   .ret_text = &(trust).ca),                                                       \
		TRUST_ROW_("tls-cert", "ZCSI_TLS_CERT", "FILE",                                    \
			   "Our certificate, in PEM, with what is between it and the CA.",         \
			   .ret_text = &(trust).certificate),                                      \
		TRUST_ROW_("tls-key", "ZCSI_TLS_KEY", "FILE",                                      \
			   "Its private key, in PEM, without a passphrase.",                       \
			   .ret_text = &(trust).key),                                              \
		TRUST_ROW_(                                                                        \
			"allow", "ZCSI_ALLOW", "[SERVICE=]NAME",                                   \
			"Who may call us over TLS: a DNS name, URI or IP address in the caller's " \
			"certificate, for every service or only for that one, as in "              \
			"zcsi.v1.Agent=controller.example. Without it, everybody for whom the CA " \
			"vouches.",                                                                \
			.ret_list = &(trust).allow),                                               \
		TRUST_ROW_("insecure", "ZCSI_INSECURE", NULL,                                      \
			   "Without TLS: serve and call plaintext TCP beyond loopback too.",       \
			   .ret_flag = &(trust).insecure)

#define TRUST_ROW_(Name, Env, Metavar, Help, ...)                                                  \
	{                                                                                          \
		.name = (Name), .env = (Env), .metavar = (Metavar), .help = (Help), __VA_ARGS__    \
	}

/* Read the files, if there are any. -1: *err says which option is missing or what is wrong. */
int trust_open(struct trust *trust, struct error *err);
/* After every server and client that was given it. */
void trust_close(struct trust *trust);

#endif
