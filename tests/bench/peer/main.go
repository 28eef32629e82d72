// SPDX-License-Identifier: MPL-2.0

// peer serves Identity/Probe by grpc-go on the unix socket that is its argument.
package main

import (
	"context"
	"log"
	"net"
	"os"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type identity struct {
	csi.UnimplementedIdentityServer
}

func (identity) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

func main() {
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	csi.RegisterIdentityServer(server, identity{})
	log.Fatal(server.Serve(listener))
}
