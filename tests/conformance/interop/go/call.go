// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const special = "\t100 %25 of\r\n\u263a and \U0001f608 \n"

var connection *grpc.ClientConn

func text(size int) string { return strings.Repeat("x", size) }

func ask(ctx context.Context, method string, request message, options ...grpc.CallOption) (
	response message, err error) {
	err = connection.Invoke(ctx, "/zcsi.test."+method, &request, &response, options...)
	return
}

// answered returns a case in which the method answers the request with want.
func answered(method string, request, want message) func(context.Context) error {
	return func(ctx context.Context) error {
		response, err := ask(ctx, method, request)
		if err == nil && response != want {
			err = fmt.Errorf("%d bytes and %d came", len(response.text), response.count)
		}
		return err
	}
}

// ends returns an error unless the call ended with this code and a message that contains text.
func ends(err error, code codes.Code, text string) error {
	if got := status.Convert(err); got.Code() != code || !strings.Contains(got.Message(), text) {
		return fmt.Errorf("ended as %v: %q", got.Code(), got.Message())
	}
	return nil
}

// refused returns a case in which the method fails with this code and a message that contains text.
func refused(method string, request message, code codes.Code, text string,
	options ...grpc.CallOption) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := ask(ctx, method, request, options...)
		return ends(err, code, text)
	}
}

func open(ctx context.Context, method string) grpc.ClientStream {
	both := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	return must(connection.NewStream(ctx, both, "/zcsi.test.Echo/"+method))
}

// next receives a response and returns an error if that fails or the response differs from want.
func next(stream grpc.ClientStream, want message) error {
	var response message
	err := stream.RecvMsg(&response)
	if err == nil && response != want {
		err = fmt.Errorf("%d bytes and %d came", len(response.text), response.count)
	}
	return err
}

func atEnd(stream grpc.ClientStream) error {
	if err := next(stream, message{}); err != io.EOF {
		return fmt.Errorf("not the end: %v", err)
	}
	return nil
}

func clientStreaming(ctx context.Context) error {
	stream := open(ctx, "Collect")
	for _, size := range []int{27182, 8, 1828, 45904} {
		if err := stream.SendMsg(&message{text: text(size)}); err != nil {
			return err
		}
	}
	stream.CloseSend()
	if err := next(stream, message{text(45904), 4}); err != nil {
		return err
	}
	return atEnd(stream)
}

func serverStreaming(ctx context.Context) error {
	stream := open(ctx, "Repeat")
	if err := stream.SendMsg(&message{text(31415), 4}); err != nil {
		return err
	}
	stream.CloseSend()
	for i := range uint32(4) {
		if err := next(stream, message{text(31415), i}); err != nil {
			return err
		}
	}
	return atEnd(stream)
}

func pingPong(ctx context.Context) error {
	stream := open(ctx, "Chat")
	for _, size := range []int{31415, 9, 2653, 58979} {
		request := message{text(size), uint32(size)}
		if err := stream.SendMsg(&request); err != nil {
			return err
		}
		if err := next(stream, request); err != nil {
			return err
		}
	}
	stream.CloseSend()
	return atEnd(stream)
}

func emptyStream(ctx context.Context) error {
	stream := open(ctx, "Chat")
	stream.CloseSend()
	return atEnd(stream)
}

func cancelAfterBegin(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	stream := open(ctx, "Collect")
	cancel()
	return ends(next(stream, message{}), codes.Canceled, "")
}

func cancelAfterFirstResponse(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := open(ctx, "Chat")
	if err := stream.SendMsg(&message{count: 1}); err != nil {
		return err
	}
	if err := next(stream, message{count: 1}); err != nil {
		return err
	}
	cancel()
	return ends(next(stream, message{}), codes.Canceled, "")
}

func timeoutOnSleepingServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	return refused("Echo/Hang", message{}, codes.DeadlineExceeded, "")(ctx)
}

func customMetadata(ctx context.Context) error {
	ctx = metadata.AppendToOutgoingContext(ctx, "x-text", "some text", "x-bytes-bin", "\x00\xff\n")
	return answered("Echo/Echo", message{"metadata", 1}, message{"metadata", 1})(ctx)
}

var cases = map[string]func(context.Context) error{
	"empty_unary": answered("Echo/Echo", message{}, message{}),
	"large_unary": answered("Echo/Make", message{text(271828), 314159},
		message{text: text(314159)}),
	"custom_metadata":         customMetadata,
	"status_code_and_message": refused("Echo/Fail", message{"as told", 2}, codes.Unknown, "as told"),
	"special_status_message":  refused("Echo/Fail", message{special, 2}, codes.Unknown, special),
	"unimplemented_method":    refused("Echo/Nothing", message{}, codes.Unimplemented, "Nothing"),
	"unimplemented_service":   refused("Nobody/Echo", message{}, codes.Unimplemented, "Nobody"),
	"client_compressed_unary": refused("Echo/Echo", message{text: text(1000)}, codes.Unimplemented,
		"identity", grpc.UseCompressor(gzip.Name)),
	"timeout_on_sleeping_server":  timeoutOnSleepingServer,
	"client_streaming":            clientStreaming,
	"server_streaming":            serverStreaming,
	"ping_pong":                   pingPong,
	"empty_stream":                emptyStream,
	"cancel_after_begin":          cancelAfterBegin,
	"cancel_after_first_response": cancelAfterFirstResponse,
}

func play(name string) error {
	run, ok := cases[name]
	if !ok {
		return fmt.Errorf("there is no such case")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return run(ctx)
}

func call(target string, trust *tls.Config, names []string) (failed int) {
	security := insecure.NewCredentials()
	if trust != nil {
		security = credentials.NewTLS(trust)
	}
	connection = must(grpc.NewClient(target, grpc.WithTransportCredentials(security),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(codec{}))))
	for _, name := range names {
		if err := play(name); err != nil {
			fmt.Printf("not ok %s: %v\n", name, err)
			failed = 1
		} else {
			fmt.Printf("ok %s\n", name)
		}
	}
	return failed
}
