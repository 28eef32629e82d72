// SPDX-License-Identifier: MPL-2.0

// go serves Identity/Probe and zcsi.bench.Bulk with grpc-go: go unix://PATH, or with mutual TLS go
// tcp://HOST:PORT CA CERTIFICATE KEY.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log"
	"net"
	"os"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type identity struct {
	csi.UnimplementedIdentityServer
}

func (identity) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

// send sends the requested number of bytes, in messages of one size.
func send(size int64) grpc.StreamHandler {
	return func(_ any, stream grpc.ServerStream) error {
		var wanted wrapperspb.Int64Value
		if err := stream.RecvMsg(&wanted); err != nil {
			return err
		}
		chunk := wrapperspb.Bytes(make([]byte, size))
		for left := wanted.Value; left > 0; left -= size {
			if err := stream.SendMsg(chunk); err != nil {
				return err
			}
		}
		return nil
	}
}

var bulk = grpc.ServiceDesc{
	ServiceName: "zcsi.bench.Bulk",
	Streams: []grpc.StreamDesc{
		{StreamName: "Send64KiB", Handler: send(64 << 10), ServerStreams: true},
		{StreamName: "Send1MiB", Handler: send(1 << 20), ServerStreams: true},
	},
}

func mutual(ca, cert, key string) grpc.ServerOption {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(ca)
	if err != nil {
		log.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(text)
	return grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{pair},
		ClientCAs:    clients,
		ClientAuth:   tls.RequireAndVerifyClientCert,
	}))
}

func main() {
	network, address, _ := strings.Cut(os.Args[1], "://")
	listener, err := net.Listen(network, address)
	if err != nil {
		log.Fatal(err)
	}
	var options []grpc.ServerOption
	if len(os.Args) > 2 {
		options = append(options, mutual(os.Args[2], os.Args[3], os.Args[4]))
	}
	server := grpc.NewServer(options...)
	csi.RegisterIdentityServer(server, identity{})
	server.RegisterService(&bulk, nil)
	log.Fatal(server.Serve(listener))
}
