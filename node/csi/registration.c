/* SPDX-License-Identifier: MPL-2.0 */
/*
 * pluginregistration.Registration, by which kubelet gets the path of the CSI socket of zcsi-node.
 * So no other program has to register the socket.
 *
 * Invariant: the answer depends on the command line alone. When zcsi-node ends, its server removes
 * the socket of this service, and kubelet takes the node's driver off its list.
 */
#include "common/log.h"
#include "common/volume/plugin.h"
#include "node/service.h"

#define CSI_VERSION "1.0.0" /* kubelet looks at the major version */

int get_info(struct rpc_call *call, const InfoRequest *req, PluginInfo *rsp, struct error *err)
{
	(void)req, (void)err;
	rsp->type = arena_strdup(&call->arena, "CSIPlugin");
	rsp->name = arena_strdup(&call->arena, PLUGIN_NAME);
	rsp->endpoint = arena_strdup(&call->arena, call->app);
	rsp->supported_versions = arena_alloc(&call->arena, sizeof(*rsp->supported_versions));
	rsp->supported_versions[rsp->n_supported_versions++] =
		arena_strdup(&call->arena, CSI_VERSION);
	return 0;
}

int notify_registration_status(struct rpc_call *call, const RegistrationStatus *req,
			       RegistrationStatusResponse *rsp, struct error *err)
{
	(void)rsp, (void)err;
	if (req->plugin_registered)
		log_info("kubelet has registered this node", log_str("socket", call->app));
	else
		log_error("cannot register with kubelet, which retries",
			  log_str("socket", call->app), log_str("error", req->error));
	return 0;
}
