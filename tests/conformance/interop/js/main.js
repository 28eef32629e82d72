// SPDX-License-Identifier: MPL-2.0

// main.js is a client and a server of echo.proto, implemented with grpc-js:
//
//	node main.js PROTO serve ENDPOINT           serve until killed
//	node main.js PROTO call ENDPOINT CASE...    print "ok CASE" or "not ok CASE: REASON"
//
// Over tcp:// it uses mutual TLS, with the certificates of the folder $CERTIFICATES.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

const CODE = grpc.status;
const SPECIAL = "\t100 %25 of\r\n\u263a and \u{1f608} \n";
const BYTES = Buffer.from([0, 0xff, 0x0a]);

const text = (size) => "x".repeat(size);
const message = (size, count = 0) => ({ text: text(size), count });

function someMetadata() {
	const some = new grpc.Metadata();
	some.set("x-text", "some text");
	some.set("x-bytes-bin", BYTES);
	return some;
}

// ---- the server ----

const handlers = {
	// Send metadata before and after the answer.
	Echo(call, answer) {
		call.sendMetadata(someMetadata());
		answer(null, call.request, someMetadata());
	},
	Make: (call, answer) => answer(null, message(call.request.count)),
	Fail: (call, answer) => answer({ code: call.request.count, details: call.request.text }),
	Hang() {},
	Collect(call, answer) {
		let last = message(0);
		call.on("data", ({ text }) => (last = { text, count: last.count + 1 }));
		call.on("end", () => answer(null, last));
	},
	Repeat(call) {
		for (let count = 0; count < call.request.count; count++)
			call.write({ text: call.request.text, count });
		call.end();
	},
	Chat(call) {
		call.on("data", (request) => call.write(request));
		call.on("end", () => call.end());
	},
};

function serve(test, address, trust) {
	const { Nothing, Script, Pull, Push, ...served } = test.Echo.service;
	const server = new grpc.Server();
	server.addService(served, handlers);
	const security = trust
		? grpc.ServerCredentials.createSsl(trust.ca,
			[{ cert_chain: trust.cert, private_key: trust.key }], true)
		: grpc.ServerCredentials.createInsecure();
	server.bindAsync(address, security, (error) => assert.ifError(error));
}

// ---- the client ----

let client, nobody, gzip;

function ask(method, request, { of = client, metadata = new grpc.Metadata(), ms = 10000 } = {}) {
	return new Promise((resolve, reject) =>
		of[method](request, metadata, { deadline: Date.now() + ms },
			(error, response) => (error ? reject(error) : resolve(response))));
}

async function answered(method, request, want, options) {
	assert.deepEqual(await ask(method, request, options), want);
}

// Check that the call fails with this code and that its message contains the text.
async function refused(promise, code, text = "") {
	await assert.rejects(promise, (error) => {
		assert.equal(error.code, code, error.message);
		assert(error.details.includes(text), error.details);
		return true;
	});
}

const open = (method, ...args) =>
	client[method](...args, new grpc.Metadata(), { deadline: Date.now() + 10000 });

async function take(stream) {
	const all = [];
	for await (const response of stream)
		all.push(response);
	return all;
}

function clientStreaming() {
	return new Promise((resolve, reject) => {
		const call = client.Collect({ deadline: Date.now() + 10000 }, (error, response) =>
			error ? reject(error) : resolve(response));
		for (const size of [27182, 8, 1828, 45904])
			call.write(message(size));
		call.end();
	}).then((response) => assert.deepEqual(response, message(45904, 4)));
}

async function serverStreaming() {
	const all = await take(open("Repeat", message(31415, 4)));
	assert.deepEqual(all, [0, 1, 2, 3].map((count) => message(31415, count)));
}

async function pingPong() {
	const stream = open("Chat");
	const answers = stream[Symbol.asyncIterator]();
	for (const size of [31415, 9, 2653, 58979]) {
		stream.write(message(size, size));
		assert.deepEqual((await answers.next()).value, message(size, size));
	}
	stream.end();
	assert((await answers.next()).done);
}

async function emptyStream() {
	const stream = open("Chat");
	stream.end();
	assert.deepEqual(await take(stream), []);
}

function cancelAfterBegin() {
	return refused(new Promise((_, reject) => client.Collect(reject).cancel()), CODE.CANCELLED);
}

async function cancelAfterFirstResponse() {
	const stream = open("Chat");
	const answers = stream[Symbol.asyncIterator]();
	stream.write(message(27182));
	assert.deepEqual((await answers.next()).value, message(27182));
	stream.cancel();
	await refused(answers.next(), CODE.CANCELLED);
}

const cases = {
	empty_unary: () => answered("Echo", {}, message(0)),
	large_unary: () => answered("Make", message(271828, 314159), message(314159)),
	custom_metadata: () => answered("Echo", message(9, 1), message(9, 1),
		{ metadata: someMetadata() }),
	status_code_and_message: () =>
		refused(ask("Fail", { text: "as told", count: 2 }), CODE.UNKNOWN, "as told"),
	special_status_message: () =>
		refused(ask("Fail", { text: SPECIAL, count: 2 }), CODE.UNKNOWN, SPECIAL),
	unimplemented_method: () => refused(ask("Nothing", {}), CODE.UNIMPLEMENTED, "Nothing"),
	unimplemented_service: () =>
		refused(ask("Echo", {}, { of: nobody }), CODE.UNIMPLEMENTED, "Nobody"),
	client_compressed_unary: () =>
		refused(ask("Echo", message(1000), { of: gzip }), CODE.UNIMPLEMENTED, "identity"),
	timeout_on_sleeping_server: () =>
		refused(ask("Hang", {}, { ms: 200 }), CODE.DEADLINE_EXCEEDED),
	client_streaming: clientStreaming,
	server_streaming: serverStreaming,
	ping_pong: pingPong,
	empty_stream: emptyStream,
	cancel_after_begin: cancelAfterBegin,
	cancel_after_first_response: cancelAfterFirstResponse,
};

async function call(test, address, trust, names) {
	const security = trust
		? grpc.credentials.createSsl(trust.ca, trust.key, trust.cert)
		: grpc.credentials.createInsecure();
	client = new test.Echo(address, security);
	nobody = new test.Nobody(address, security);
	gzip = new test.Echo(address, security, { "grpc.default_compression_algorithm": 2 });
	let failed = 0;
	for (const name of names) {
		try {
			assert(cases[name], "there is no such case");
			await cases[name]();
			console.log(`ok ${name}`);
		} catch (error) {
			const why = error.message.replaceAll(/\s+/g, " ").slice(0, 300);
			console.log(`not ok ${name}: ${why}`);
			failed = 1;
		}
	}
	// grpc-js keeps the connection of a call that was cancelled before it was sent, so exit
	// explicitly.
	process.exit(failed);
}

// ----

const [proto, command, endpoint, ...names] = process.argv.slice(2);
const { zcsi } = grpc.loadPackageDefinition(loader.loadSync(proto, { defaults: true }));
const address = endpoint.replace("tcp://", "");
const file = (name) => fs.readFileSync(`${process.env.CERTIFICATES}/${name}`);
const trust = endpoint.startsWith("tcp://") &&
	{ ca: file("ca.pem"), cert: file("localhost.pem"), key: file("localhost.key") };

if (command === "serve")
	serve(zcsi.test, address, trust);
else
	call(zcsi.test, address, trust, names);
