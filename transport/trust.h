/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TRUST_H
#define ZCSI_TRUST_H

/*
 * The trust settings of a daemon: its CA, its certificate, and its permitted callers. The options
 * are the same in every daemon. With --tls-ca, --tls-cert and --tls-key every tcp:// endpoint,
 * served or called, uses TLS. Unix sockets never use TLS; the mode of their file restricts the
 * callers.
 */

#include <stdbool.h>

#include "common/error.h"
#include "common/options.h"
#include "transport/tls.h"

struct trust {
	const char *ca, *certificate, *key;
	struct option_list allow;
	bool insecure;
	struct tls *tls; /* credentials, set by trust_open; NULL: plain text */
};

/* Rows of a program's option table; trust is a static variable that receives the values. */
#define TRUST_OPTIONS(trust)                                                                       \
	TRUST_CLIENT_OPTIONS(trust),                                                               \
		TRUST_ROW_("allow", "ZCSI_ALLOW", "[SERVICE[/METHOD]=]NAME",                       \
			   "A caller that is allowed over TLS: a DNS name, URI or IP address in "  \
			   "its certificate, for every service or only for that one, as in "       \
			   "zcsi.v1.Agent=controller.example, or for one method of it, as in "     \
			   "zcsi.v1.Agent/GetHost=node.example. Without it, every caller with a "  \
			   "certificate of the CA is allowed.",                                    \
			   .ret_list = &(trust).allow)

/* The rows of a program that only calls others. */
#define TRUST_CLIENT_OPTIONS(trust)                                                                \
	TRUST_ROW_("tls-ca", "ZCSI_TLS_CA", "FILE",                                                \
		   "The certificates of the CAs of all callers and servers, in PEM. With this, "   \
		   "--tls-cert and --tls-key every tcp:// endpoint speaks mutual TLS. The files "  \
		   "may be replaced at any time.",                                                 \
		   .ret_text = &(trust).ca),                                                       \
		TRUST_ROW_("tls-cert", "ZCSI_TLS_CERT", "FILE",                                    \
			   "Our certificate, in PEM, with what is between it and the CA.",         \
			   .ret_text = &(trust).certificate),                                      \
		TRUST_ROW_("tls-key", "ZCSI_TLS_KEY", "FILE",                                      \
			   "Its private key, in PEM, without a passphrase.",                       \
			   .ret_text = &(trust).key),                                              \
		TRUST_ROW_("insecure", "ZCSI_INSECURE", NULL,                                      \
			   "Without TLS: serve and call plaintext TCP beyond loopback too.",       \
			   .ret_flag = &(trust).insecure)

#define TRUST_ROW_(Name, Env, Metavar, Help, ...)                                                  \
	{                                                                                          \
		.name = (Name), .env = (Env), .metavar = (Metavar), .help = (Help), __VA_ARGS__    \
	}

/* Load the --tls files, if given. Returns -1 with the missing option or defective file in *err. */
int trust_open(struct trust *trust, struct error *err);
/* Free the credentials, after every server and client that uses them. */
void trust_close(struct trust *trust);

#endif
