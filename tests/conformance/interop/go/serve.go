// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

type handler func(ctx context.Context, request *message) (*message, error)

func unary(name string, handle handler) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(_ any, ctx context.Context,
		decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var request message
		if err := decode(&request); err != nil {
			return nil, err
		}
		return handle(ctx, &request)
	}}
}

// echo sends metadata before and after the answer.
func echo(ctx context.Context, request *message) (*message, error) {
	some := metadata.Pairs("x-text", "some text", "x-bytes-bin", "\x00\xff\n")
	if err := grpc.SetHeader(ctx, some); err != nil {
		return nil, err
	}
	return request, grpc.SetTrailer(ctx, some)
}

func make_(_ context.Context, request *message) (*message, error) {
	return &message{text: strings.Repeat("x", int(request.count))}, nil
}

func fail(_ context.Context, request *message) (*message, error) {
	return nil, status.Error(codes.Code(request.count), request.text)
}

func hang(ctx context.Context, _ *message) (*message, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func collect(_ any, stream grpc.ServerStream) error {
	var request, last message
	for {
		if err := stream.RecvMsg(&request); err == io.EOF {
			return stream.SendMsg(&last)
		} else if err != nil {
			return err
		}
		last = message{text: request.text, count: last.count + 1}
	}
}

func repeat(_ any, stream grpc.ServerStream) error {
	var request message
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	for i := range request.count {
		if err := stream.SendMsg(&message{text: request.text, count: i}); err != nil {
			return err
		}
	}
	return nil
}

func chat(_ any, stream grpc.ServerStream) error {
	var request message
	for {
		if err := stream.RecvMsg(&request); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := stream.SendMsg(&request); err != nil {
			return err
		}
	}
}

var service = grpc.ServiceDesc{
	ServiceName: "zcsi.test.Echo",
	Methods: []grpc.MethodDesc{
		unary("Echo", echo), unary("Make", make_), unary("Fail", fail), unary("Hang", hang),
	},
	Streams: []grpc.StreamDesc{
		{StreamName: "Collect", Handler: collect, ClientStreams: true},
		{StreamName: "Repeat", Handler: repeat, ServerStreams: true},
		{StreamName: "Chat", Handler: chat, ServerStreams: true, ClientStreams: true},
	},
}

func serve(listener net.Listener, trust *tls.Config) {
	options := []grpc.ServerOption{grpc.ForceServerCodec(codec{})}
	if trust != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(trust)))
	}
	server := grpc.NewServer(options...)
	server.RegisterService(&service, nil)
	log.Fatal(server.Serve(listener))
}
