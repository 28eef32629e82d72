// SPDX-License-Identifier: MPL-2.0

// Wire checks that our csi.proto is the same as the published one on the wire.
//
//	protoc --include_imports --descriptor_set_out=FILE proto/csi.proto && wire FILE
//
// Both files are written as facts, one line for each thing that a peer can see: packages, services,
// methods, messages, fields, oneofs, enums and their values. A fact that only one file has is a
// difference. Comments, options, imports and order are not facts. Facts of CSI 1.12 that 1.13 has
// removed and our file keeps are counted, and are no differences.
package main

import (
	"fmt"
	"os"
	"sort"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// kinds lists the kinds of facts to count, in the order of output.
var kinds = []string{"service", "method", "message", "map entry", "field", "oneof", "enum", "value"}

type facts struct {
	lines map[string]bool
	count map[string]int
}

func (f *facts) add(kind, format string, args ...any) {
	f.lines[kind+" "+fmt.Sprintf(format, args...)] = true
	f.count[kind]++
}

func (f *facts) service(s protoreflect.ServiceDescriptor) {
	f.add("service", "%s", s.FullName())
	for i := range s.Methods().Len() {
		m := s.Methods().Get(i)
		f.add("method", "%s takes %s%s returns %s%s", m.FullName(),
			when(m.IsStreamingClient(), "stream "), m.Input().FullName(),
			when(m.IsStreamingServer(), "stream "), m.Output().FullName())
	}
}

func (f *facts) message(m protoreflect.MessageDescriptor) {
	f.add("message", "%s", m.FullName())
	if m.IsMapEntry() {
		f.add("map entry", "%s", m.FullName())
	}
	for i := range m.Fields().Len() {
		f.field(m.Fields().Get(i))
	}
	for i := range m.Oneofs().Len() {
		f.add("oneof", "%s = %d", m.Oneofs().Get(i).FullName(), i)
	}
	for i := range m.Messages().Len() {
		f.message(m.Messages().Get(i))
	}
	for i := range m.Enums().Len() {
		f.enum(m.Enums().Get(i))
	}
}

func (f *facts) field(d protoreflect.FieldDescriptor) {
	kind := d.Kind().String()
	if d.Message() != nil {
		kind += " " + string(d.Message().FullName())
	} else if d.Enum() != nil {
		kind += " " + string(d.Enum().FullName())
	}
	oneof := ""
	if d.ContainingOneof() != nil {
		oneof = fmt.Sprintf(" in %s", d.ContainingOneof().Name())
	}
	f.add("field", "%s = %d: %s %s%s%s", d.FullName(), d.Number(), d.Cardinality(), kind, oneof,
		when(d.IsPacked(), " packed")+when(d.HasPresence(), " with presence"))
}

func (f *facts) enum(e protoreflect.EnumDescriptor) {
	f.add("enum", "%s", e.FullName())
	for i := range e.Values().Len() {
		v := e.Values().Get(i)
		f.add("value", "%s.%s = %d", e.FullName(), v.Name(), v.Number())
	}
}

func tell(file protoreflect.FileDescriptor) *facts {
	f := &facts{map[string]bool{}, map[string]int{}}
	f.add("package", "%s", file.Package())
	f.add("syntax", "%s", file.Syntax())
	for i := range file.Services().Len() {
		f.service(file.Services().Get(i))
	}
	for i := range file.Messages().Len() {
		f.message(file.Messages().Get(i))
	}
	for i := range file.Enums().Len() {
		f.enum(file.Enums().Get(i))
	}
	return f
}

func when(yes bool, text string) string {
	if yes {
		return text
	}
	return ""
}

// load returns the file at the end of the descriptor set, where protoc writes the file it was
// given.
func load(path string) (protoreflect.FileDescriptor, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(data, set); err != nil {
		return nil, err
	}
	if len(set.File) == 0 {
		return nil, fmt.Errorf("%s describes no file", path)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, err
	}
	return files.FindFileByPath(set.File[len(set.File)-1].GetName())
}

func missing(from, in *facts) (lines []string) {
	for line := range in.lines {
		if !from.lines[line] {
			lines = append(lines, line)
		}
	}
	return lines
}

// kept lists the facts of the volume condition of CSI 1.12, as that version has them.
var kept = map[string]bool{
	"message csi.v1.VolumeCondition":                                          true,
	"field csi.v1.VolumeCondition.abnormal = 1: optional bool":                true,
	"field csi.v1.VolumeCondition.message = 2: optional string":               true,
	"value csi.v1.ControllerServiceCapability.RPC.Type.VOLUME_CONDITION = 11": true,
	"value csi.v1.NodeServiceCapability.RPC.Type.VOLUME_CONDITION = 4":        true,
	condition("ListVolumesResponse.VolumeStatus"):                             true,
	condition("ControllerGetVolumeResponse.VolumeStatus"):                     true,
	condition("NodeGetVolumeStatsResponse"):                                   true,
}

func condition(message string) string {
	return "field csi.v1." + message +
		".volume_condition = 2: optional message csi.v1.VolumeCondition with presence"
}

// compare returns the differences and the number of kept facts that our file has.
func compare(ours, published *facts) (differences []string, n int) {
	for _, line := range missing(published, ours) {
		if kept[line] {
			n++
		} else {
			differences = append(differences, line+" (only ours)")
		}
	}
	for _, line := range missing(ours, published) {
		differences = append(differences, line+" (only published)")
	}
	sort.Strings(differences)
	return differences, n
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: wire DESCRIPTOR-SET")
		os.Exit(2)
	}
	file, err := load(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "wire:", err)
		os.Exit(2)
	}
	ours, published := tell(file), tell(csi.File_csi_proto)
	differences, n := compare(ours, published)
	for _, line := range differences {
		fmt.Println(line)
	}
	for _, kind := range kinds {
		fmt.Printf("%d %s, ", published.count[kind], plural(kind))
	}
	fmt.Printf("%d facts of CSI 1.12 kept, %d differences\n", n, len(differences))
	if len(differences) > 0 || n != len(kept) {
		os.Exit(1)
	}
}

func plural(kind string) string {
	if kind == "map entry" {
		return "map entries"
	}
	return kind + "s"
}
