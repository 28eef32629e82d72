/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_VOLUME_PLUGIN_H
#define ZCSI_VOLUME_PLUGIN_H

/*
 * The plugin's name and capabilities, which both daemons report. CSI has each instance give the
 * "grand sum" of all, so there is one list (spec.md, GetPluginCapabilities).
 */

#define PLUGIN_NAME "zcsi.zfs" /* domain notation; begins and ends with a letter */

/* SERVICE(type of PluginCapability.Service), EXPANSION(type of PluginCapability.VolumeExpansion) */
#define PLUGIN_CAPABILITIES(SERVICE, EXPANSION)                                                    \
	SERVICE(CONTROLLER_SERVICE)                                                                \
	SERVICE(VOLUME_ACCESSIBILITY_CONSTRAINTS)                                                  \
	SERVICE(GROUP_CONTROLLER_SERVICE)                                                          \
	EXPANSION(ONLINE)

/* The topology key every node has; its value is the node id, unless --topology gives another. */
#define PLUGIN_TOPOLOGY_KEY PLUGIN_NAME "/node"

/* The secret of CreateVolume and NodeStageVolume that an encrypted volume is opened with. */
#define PLUGIN_KEY_SECRET   "encryption_key"

#endif
