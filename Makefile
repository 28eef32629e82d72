# SPDX-License-Identifier: MPL-2.0
#
# make help lists the targets. Nothing here needs root but what installs packages or makes a pool.

SHELL    := /bin/bash
VERSION  := 0.1.0
PREFIX   ?= /usr/local
BUILD    ?= build
CC       ?= gcc
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
            -Wnull-dereference -Wpointer-arith -Wwrite-strings -Wundef -Werror
HARDEN   := -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection \
            $(if $(filter x86_64,$(shell uname -m)),-fcf-protection) -fPIE
CFLAGS   ?= $(HARDEN) -g
LDFLAGS  ?= -pie -Wl,-z,relro,-z,now,-z,noexecstack,--as-needed
PACKAGES := libnghttp2 libevent_core libprotobuf-c libmd
CPPFLAGS += -D_GNU_SOURCE -DZCSI_VERSION='"$(VERSION)"' -I. -I$(BUILD)
# make V=1 shows the commands
Q        := $(if $(V),,@)
say       = @echo "  $(1)	$(patsubst $(BUILD)/%,%,$@)"
compile   = $(CC) -std=gnu17 $(CPPFLAGS) $(CFLAGS) -pthread -MMD -MP

PROTO    := csi agent
WELL     := timestamp wrappers
DEBUG    := -O1 -g -fno-omit-frame-pointer
ASAN     := -fsanitize=address,undefined -fno-sanitize-recover=all
ASAN_KEEPS := 400000 # kB of freed memory, so that the attacks' bound on growth is not 8 MB there
TSAN     := -fsanitize=thread
PYTEST   := jobs/local/with-zfs /usr/bin/python3 -m pytest -q -p no:cacheprovider --timeout 180
DAEMONS  := zcsi-controller zcsi-node
LIBRARY  := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard common/*.c transport/*.c)))
MESSAGES := $(PROTO:%=$(BUILD)/proto/%.pb-c.o) $(WELL:%=$(BUILD)/google/protobuf/%.pb-c.o)
NAMES    := $(PROTO:%=$(BUILD)/proto/%.h) $(WELL:%=$(BUILD)/google/protobuf/%.pb-c.h)
objects   = $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard $(1)/*.c)))
UNITS    := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/unit/test_*.c \
            tests/transport/test_*.c)))
FLOORS   := node controller zcsi
LIBS      = $(shell pkg-config --libs $(PACKAGES))

all: $(DAEMONS:%=$(BUILD)/%) ## build both daemons into build/

$(BUILD)/zcsi-%: $(BUILD)/libzcsi.a
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $(filter %.o,$^) $(BUILD)/libzcsi.a $(LIBS)
$(BUILD)/zcsi-controller: $(call objects,controller)
$(BUILD)/zcsi-node: $(call objects,node)

$(BUILD)/libzcsi.a: $(LIBRARY) $(MESSAGES)
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $^
# A unit test may call anything but a main.
.SECONDEXPANSION:
$(BUILD)/lib%.a: $$(filter-out %/main.o,$$(call objects,$$*))
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $^

# What protoc-c writes is compiled as it comes; what we write has no warning.
$(BUILD)/%.pb-c.c $(BUILD)/%.pb-c.h: %.proto
	@mkdir -p $(BUILD)
	$(Q)protoc-c -I. -I/usr/include --c_out=$(BUILD) $<
$(BUILD)/google/protobuf/%.pb-c.c $(BUILD)/google/protobuf/%.pb-c.h: \
		/usr/include/google/protobuf/%.proto
	@mkdir -p $(BUILD)
	$(Q)protoc-c -I/usr/include --c_out=$(BUILD) $<
$(BUILD)/proto/csi.h: package := csi.v1
$(BUILD)/proto/agent.h: package := zcsi.v1
$(BUILD)/proto/%.h: $(BUILD)/proto/%.pb-c.h proto/names.awk
	$(Q)awk -v package=$(package) -v file=$* -f proto/names.awk $< > $@
$(BUILD)/%.pb-c.o: $(BUILD)/%.pb-c.c $(NAMES)
	$(call say,CC)
	$(Q)$(compile) -w -c -o $@ $<
$(BUILD)/%.o: %.c | $(NAMES)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(compile) $(WARN) -c -o $@ $<

$(BUILD)/tests/%: tests/%.c $(FLOORS:%=$(BUILD)/lib%.a) | $(NAMES)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(compile) $(WARN) $(LDFLAGS) -o $@ $< $(filter %.a,$^) $(LIBS) -lcmocka

names: $(NAMES)

units: $(UNITS)
	@jobs/local/with-zfs tests/unit/run $(UNITS)

demo: ## both daemons give a workload a dataset, step by step; leaves nothing behind
	@jobs/local/demo
run: ## start both daemons and stay; Ctrl-C stops them, make run-clean removes the pool
	@jobs/local/run
run-clean: ## remove what make run made
	@jobs/local/run-clean
packages: ## install what building, testing and linting need (Debian 12, root)
	@. jobs/local/host.sh && host_packages build pool check lint

check: ## all tests but those of other people's suites: units, transport, end to end
	@. jobs/local/host.sh && host_packages build pool check
	@$(MAKE) --no-print-directory all units
	@BUILD=$(BUILD) $(PYTEST) tests/transport tests/e2e
conformance: ## the wire schema, csc and csi-sanity (needs Go)
	@. jobs/local/host.sh && host_packages build pool check
	@$(MAKE) --no-print-directory all
	@BUILD=$(BUILD) tests/conformance/run
lint: ## what the house rules let a machine check
	@. jobs/local/host.sh && host_packages build lint
	@$(MAKE) --no-print-directory names
	@BUILD=$(BUILD) tests/lint
format: ## lay out the C as .clang-format says
	@clang-format -i $$(git ls-files '*.c' '*.h')
sanitize: ## the tests again under ASan and UBSan, the threads' under TSan
	@. jobs/local/host.sh && host_packages build pool check
	@$(MAKE) --no-print-directory BUILD=build/asan CFLAGS='$(DEBUG) $(ASAN)' all units
	@BUILD=build/asan GROWTH_KB=$(ASAN_KEEPS) $(PYTEST) tests/transport tests/e2e
	@$(MAKE) --no-print-directory BUILD=build/tsan CFLAGS='$(DEBUG) $(TSAN)' all units
	@BUILD=build/tsan $(PYTEST) tests/e2e/test_lifecycle.py tests/e2e/test_concurrency.py
bench: all ## memory, start, and latencies beside gRPC's own servers and bare zfs
	@. jobs/local/host.sh && host_packages build pool check
	@BUILD=$(BUILD) jobs/local/with-zfs /usr/bin/python3 tests/bench/bench.py
bench-scale: all ## ten volumes beside SCALE=10000 with SNAPSHOTS=10 each; keeps that pool
	@. jobs/local/host.sh && host_packages build pool check
	@BUILD=$(BUILD) jobs/local/with-zfs /usr/bin/python3 tests/bench/scale.py

install: all ## DESTDIR= PREFIX=
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/sbin $(DAEMONS:%=$(BUILD)/%)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/zcsi README.md LICENSE jobs/*.hcl
clean: ## remove build/
	rm -rf build
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

.PHONY: all names units demo run run-clean packages check conformance lint format sanitize \
	bench bench-scale install clean help
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
