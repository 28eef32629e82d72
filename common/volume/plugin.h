/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_VOLUME_PLUGIN_H
#define ZCSI_VOLUME_PLUGIN_H

/*
 * The name and the capabilities of the plugin, reported by both daemons. CSI requires each instance
 * to report the "grand sum" of all capabilities, so there is one list (spec.md,
 * GetPluginCapabilities).
 */

#define PLUGIN_NAME "zcsi.zfs" /* a name in domain notation, as CSI requires */

/*
 * The list of capabilities. SERVICE takes a type of PluginCapability.Service, EXPANSION a type of
 * PluginCapability.VolumeExpansion.
 */
#define PLUGIN_CAPABILITIES(SERVICE, EXPANSION)                                                    \
	SERVICE(CONTROLLER_SERVICE)                                                                \
	SERVICE(VOLUME_ACCESSIBILITY_CONSTRAINTS)                                                  \
	SERVICE(GROUP_CONTROLLER_SERVICE)                                                          \
	EXPANSION(ONLINE)

/* The topology key of every node. The value is the node id, unless set by --topology. */
#define PLUGIN_TOPOLOGY_KEY PLUGIN_NAME "/node"

/* The name of the secret, in CreateVolume and NodeStageVolume, with an encrypted volume's key. */
#define PLUGIN_KEY_SECRET   "encryption_key"

#endif
