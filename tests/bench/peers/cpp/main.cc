// SPDX-License-Identifier: MPL-2.0
//
// A server of Identity/Probe and zcsi.bench.Bulk on gRPC C++'s callback API: cpp unix:///PATH, or
// with mutual TLS cpp tcp://HOST:PORT CA CERTIFICATE KEY.
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include <grpcpp/grpcpp.h>

#include "proto/csi.grpc.pb.h"
#include "tests/bench/bulk.grpc.pb.h"

using google::protobuf::BytesValue;
using google::protobuf::Int64Value;

class Identity final : public csi::v1::Identity::CallbackService {
	grpc::ServerUnaryReactor *Probe(grpc::CallbackServerContext *context,
					const csi::v1::ProbeRequest *,
					csi::v1::ProbeResponse *response) override
	{
		response->mutable_ready()->set_value(true);
		auto *reactor = context->DefaultReactor();
		reactor->Finish(grpc::Status::OK);
		return reactor;
	}
};

class Sender final : public grpc::ServerWriteReactor<BytesValue> {
public:
	Sender(int64_t wanted, size_t size) : left(wanted)
	{
		chunk.set_value(std::string(size, '\0'));
		OnWriteDone(true);
	}

	void OnWriteDone(bool ok) override
	{
		if (!ok || left <= 0) {
			Finish(grpc::Status::OK);
			return;
		}
		left -= static_cast<int64_t>(chunk.value().size());
		StartWrite(&chunk);
	}

	void OnDone() override
	{
		delete this;
	}

private:
	BytesValue chunk;
	int64_t left;
};

class Bulk final : public zcsi::bench::Bulk::CallbackService {
	grpc::ServerWriteReactor<BytesValue> *Send64KiB(grpc::CallbackServerContext *,
							const Int64Value *wanted) override
	{
		return new Sender(wanted->value(), size_t{64} << 10);
	}

	grpc::ServerWriteReactor<BytesValue> *Send1MiB(grpc::CallbackServerContext *,
						       const Int64Value *wanted) override
	{
		return new Sender(wanted->value(), size_t{1} << 20);
	}
};

static std::string text_of(const char *path)
{
	std::stringstream text;
	text << std::ifstream(path).rdbuf();
	return text.str();
}

static std::shared_ptr<grpc::ServerCredentials> mutual(char **files)
{
	grpc::SslServerCredentialsOptions options(
		GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
	options.pem_root_certs = text_of(files[0]);
	options.pem_key_cert_pairs.push_back({text_of(files[2]), text_of(files[1])});
	return grpc::SslServerCredentials(options);
}

static std::shared_ptr<grpc::ServerCredentials> plain()
{
	return grpc::InsecureServerCredentials();
}

/* gRPC has no name of its own for TCP. */
static std::string address_of(const std::string &endpoint)
{
	static const std::string tcp = "tcp://";
	return endpoint.rfind(tcp, 0) == 0 ? endpoint.substr(tcp.size()) : endpoint;
}

int main(int argc, char **argv)
{
	Identity identity;
	Bulk bulk;
	grpc::ServerBuilder builder;

	builder.AddListeningPort(address_of(argv[1]), argc > 2 ? mutual(argv + 2) : plain());
	builder.RegisterService(&identity);
	builder.RegisterService(&bulk);
	builder.BuildAndStart()->Wait();
}
