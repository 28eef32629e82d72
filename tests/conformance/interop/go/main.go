// SPDX-License-Identifier: MPL-2.0

// go is a client and a server of tests/transport/echo.proto, implemented with grpc-go:
//
//	go serve ENDPOINT           serve until killed
//	go call ENDPOINT CASE...    print "ok CASE", or "not ok CASE: " and the reason, for each case
//	go misbehave ENDPOINT       serve, but end streams and connections early (misbehave.go)
//
// Over tcp:// it uses mutual TLS, with the certificates of the folder $CERTIFICATES.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"net"
	"os"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is EchoRequest and EchoResponse, which have the same fields.
type message struct {
	text  string
	count uint32
}

// codec encodes messages by hand, because generated code would need a generator.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) ([]byte, error) {
	m := v.(*message)
	var out []byte
	if m.text != "" {
		out = protowire.AppendString(protowire.AppendTag(out, 1, protowire.BytesType), m.text)
	}
	if m.count != 0 {
		out = protowire.AppendVarint(protowire.AppendTag(out, 2, protowire.VarintType),
			uint64(m.count))
	}
	return out, nil
}

func (codec) Unmarshal(data []byte, v any) error {
	m := v.(*message)
	*m = message{}
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeField(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		_, _, tag := protowire.ConsumeTag(data)
		switch {
		case number == 1 && kind == protowire.BytesType:
			text, _ := protowire.ConsumeString(data[tag:])
			m.text = text
		case number == 2 && kind == protowire.VarintType:
			count, _ := protowire.ConsumeVarint(data[tag:])
			m.count = uint32(count)
		default:
			return fmt.Errorf("field %d of kind %d is not in echo.proto", number, kind)
		}
		data = data[n:]
	}
	return nil
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// mutual returns the configuration of mutual TLS, or nil for unix sockets.
func mutual(network string) *tls.Config {
	if network == "unix" {
		return nil
	}
	folder := os.Getenv("CERTIFICATES")
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(must(os.ReadFile(folder + "/ca.pem")))
	pair := must(tls.LoadX509KeyPair(folder+"/localhost.pem", folder+"/localhost.key"))
	return &tls.Config{
		Certificates: []tls.Certificate{pair},
		RootCAs:      pool,
		ClientCAs:    pool,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ServerName:   "localhost",
		NextProtos:   []string{"h2"},
	}
}

func main() {
	network, address, _ := strings.Cut(os.Args[2], "://")
	switch os.Args[1] {
	case "serve":
		serve(must(net.Listen(network, address)), mutual(network))
	case "misbehave":
		misbehave(must(net.Listen(network, address)), mutual(network))
	case "call":
		target := "dns:///" + address
		if network == "unix" {
			target = "unix://" + address
		}
		os.Exit(call(target, mutual(network), os.Args[3:]))
	}
}
