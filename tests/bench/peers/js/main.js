// SPDX-License-Identifier: MPL-2.0

// A server of Identity/Probe on grpc-js. The argument is its address.
"use strict";

const grpc = require("@grpc/grpc-js");

const READY = Buffer.from([0x0a, 0x02, 0x08, 0x01]);
const asItIs = (bytes) => bytes;

const identity = {
	Probe: {
		path: "/csi.v1.Identity/Probe",
		requestStream: false,
		responseStream: false,
		requestDeserialize: asItIs,
		responseSerialize: asItIs,
	},
};

const server = new grpc.Server();
server.addService(identity, { Probe: (call, answer) => answer(null, READY) });
server.bindAsync(process.argv[2], grpc.ServerCredentials.createInsecure(), (error) => {
	if (error)
		throw error;
});
