// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"log"
	"net"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// peer is a client's connection. The text of a request names an entry of misdeeds, which the server
// applies to it; the count of an answer is the number of the connection.
type peer struct {
	*http2.Framer
	number uint32
	open   int // requests in flight
	pongs  int
}

func block(fields ...string) []byte {
	var out bytes.Buffer
	encoder := hpack.NewEncoder(&out)
	encoder.SetMaxDynamicTableSize(0)
	for i := 0; i < len(fields); i += 2 {
		encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return out.Bytes()
}

func (p *peer) headers(stream uint32, end bool, fields ...string) {
	p.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block(fields...),
		EndStream: end, EndHeaders: true})
}

func (p *peer) begin(stream uint32) {
	p.headers(stream, false, ":status", "200", "content-type", "application/grpc")
}

func (p *peer) body(text string) []byte {
	payload := must(codec{}.Marshal(&message{text, p.number}))
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(payload))), payload...)
}

func (p *peer) end(stream uint32) {
	p.headers(stream, true, "grpc-status", "0")
}

func (p *peer) answer(stream uint32, text string) {
	p.begin(stream)
	p.WriteData(stream, false, p.body(text))
	p.end(stream)
}

func (p *peer) goaway(stream uint32, text string) {
	p.WriteGoAway(stream, http2.ErrCodeNo, nil)
	p.answer(stream, text)
}

func (p *peer) resetAfterHeader(stream uint32, _ string) {
	p.begin(stream)
	p.WriteRSTStream(stream, http2.ErrCodeInternal)
}

func (p *peer) resetDuringData(stream uint32, text string) {
	p.begin(stream)
	p.WriteData(stream, false, p.body(text)[:7])
	p.WriteRSTStream(stream, http2.ErrCodeInternal)
}

func (p *peer) resetAfterData(stream uint32, text string) {
	p.begin(stream)
	p.WriteData(stream, false, p.body(text))
	p.WriteRSTStream(stream, http2.ErrCodeInternal)
}

// pings sends a PING and waits for its ACK before the answer, within a message and after it.
func (p *peer) pings(stream uint32, text string) {
	body := p.body(text)
	for i, part := range [][]byte{nil, body[:7], body[7:]} {
		if i == 1 {
			p.begin(stream)
		}
		if part != nil {
			p.WriteData(stream, false, part)
		}
		p.WritePing(false, [8]byte{byte(i)})
		for p.pongs = 0; p.pongs == 0; {
			if _, err := p.next(); err != nil {
				return
			}
		}
	}
	p.end(stream)
}

// alone answers the request if the client respects SETTINGS, which allow one stream at a time, and
// resets it otherwise.
func (p *peer) alone(stream uint32, text string) {
	p.WritePing(false, [8]byte{})
	for p.pongs = 0; p.pongs == 0; {
		if _, err := p.next(); err != nil {
			return
		}
	}
	if p.open > 1 {
		p.WriteRSTStream(stream, http2.ErrCodeProtocol)
		return
	}
	p.answer(stream, text)
}

var misdeeds = map[string]func(*peer, uint32, string){
	"goaway":           (*peer).goaway,
	"rst_after_header": (*peer).resetAfterHeader,
	"rst_during_data":  (*peer).resetDuringData,
	"rst_after_data":   (*peer).resetAfterData,
	"ping":             (*peer).pings,
	"max_streams":      (*peer).alone,
}

// next returns the next frame. It acknowledges SETTINGS, and counts requests and ACKs of PING.
func (p *peer) next() (http2.Frame, error) {
	frame, err := p.ReadFrame()
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			p.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if f.IsAck() {
			p.pongs++
		}
	case *http2.HeadersFrame:
		p.open++
	}
	return frame, err
}

func (p *peer) serve() {
	p.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
	for {
		frame, err := p.next()
		if err != nil {
			return
		}
		data, ok := frame.(*http2.DataFrame)
		if !ok || !data.StreamEnded() {
			continue
		}
		var request message
		if codec.Unmarshal(codec{}, data.Data()[5:], &request) != nil {
			return
		}
		if do, ok := misdeeds[request.text]; ok {
			do(p, data.StreamID, request.text)
		}
		p.open--
	}
}

func misbehave(listener net.Listener, trust *tls.Config) {
	if trust != nil {
		listener = tls.NewListener(listener, trust)
	}
	for number := uint32(1); ; number++ {
		connection := must(listener.Accept())
		go func() {
			defer connection.Close()
			preface := make([]byte, len(http2.ClientPreface))
			if _, err := io.ReadFull(connection, preface); err != nil {
				log.Print(err)
				return
			}
			(&peer{Framer: http2.NewFramer(connection, connection), number: number}).serve()
		}()
	}
}
