# SPDX-License-Identifier: MPL-2.0
#
# make help lists the targets. Only installing packages and making pools need root.

SHELL    := /bin/bash
VERSION  := 0.1.0
PREFIX   ?= /usr/local
BUILD    ?= build
CC       ?= gcc
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
            -Wnull-dereference -Wpointer-arith -Wwrite-strings -Wundef -Werror
HARDEN   := -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection \
            $(if $(filter x86_64,$(shell uname -m)),-fcf-protection) -fPIE
# With -z now all addresses are resolved before main, so calls need no PLT (-fno-plt).
CFLAGS   ?= $(HARDEN) -fno-plt -g
LDFLAGS  ?= -pie -Wl,-z,relro,-z,now,-z,noexecstack,--as-needed
MAN7     := jobs/zcsi-volumes.7
MAN8     := node/zcsi-node.8 controller/zcsi-controller.8 controller/cli/zcsi.8 \
            controller/host_volume/zcsi-host-volume.8
# The targets of links in README.md and the operating guide, installed under the same names.
PAPERS   := LICENSE $(wildcard *.md */*.md jobs/*.hcl jobs/systemd/*) $(MAN7) $(MAN8) \
            $(wildcard jobs/kubernetes/*.* jobs/kubernetes/secrets jobs/kubernetes/*/*) \
            jobs/alerts.yaml jobs/grafana.json jobs/Containerfile jobs/host-program.c \
            jobs/local/certs jobs/local/host.sh jobs/local/image-root
TO        = $(DESTDIR)$(PREFIX)
PACKAGES := libnghttp2 libevent_core libssl libcrypto libprotobuf-c libmd blkid
CPPFLAGS += -D_GNU_SOURCE -DZCSI_VERSION='"$(VERSION)"' -I. -I$(BUILD)
# make V=1 shows the commands.
Q        := $(if $(V),,@)
say       = @echo "  $(1)	$(patsubst $(BUILD)/%,%,$@)"
compile   = $(CC) -std=gnu17 $(CPPFLAGS) $(CFLAGS) -pthread -MMD -MP

PROTO    := csi agent copy health reflection reflection_v1alpha registration
WELL     := timestamp wrappers descriptor
DEBUG    := -O1 -g -fno-omit-frame-pointer
ASAN     := -fsanitize=address,undefined -fno-sanitize-recover=all
SECONDS  ?= 60
CALLS    ?= 1000000
HISTORIES ?= 20
SEED     ?= $(shell date +%s)
ASAN_KEEPS := 400000 # kB of growth that tests allow under ASan, which keeps freed memory
TSAN     := -fsanitize=thread
# A test's timeout ends the whole run and prints the stack of every thread, because a hung process
# may ignore signals. T=PART picks the tests whose file has PART in its path, K=WORDS those whose
# names match. SLICE=K/N and MATRIX=K/N run one of N parts of pytest's tests (tests/conftest.py).
PYTEST   := jobs/local/with-zfs /usr/bin/python3 -m pytest -q -p no:cacheprovider --timeout 180 \
            --timeout-method thread $(if $(K),-k '$(K)')
# Tests in which an older Nomad may behave differently.
OLDER    ?= 1.6
NOMAD_OLDER := $(addprefix tests/nomad/test_,plugin.py volumes.py snapshots.py)
DAEMONS  := zcsi-controller zcsi-node
PROGRAMS := $(DAEMONS) zcsi zcsi-host-volume
LIBRARY   = $(call objects,common) $(call objects,transport)
MESSAGES := $(PROTO:%=$(BUILD)/proto/%.pb-c.o) $(WELL:%=$(BUILD)/google/protobuf/%.pb-c.o)
NAMES    := $(PROTO:%=$(BUILD)/proto/%.h) $(WELL:%=$(BUILD)/google/protobuf/%.pb-c.h) \
            $(BUILD)/proto/descriptors.inc
# Sources of folders and of the folders below them.
sources   = $(sort $(wildcard $(foreach folder,$(1), \
            $(folder)/*.c $(folder)/*/*.c $(folder)/*/*/*.c)))
objects   = $(patsubst %.c,$(BUILD)/%.o,$(call sources,$(1)))
UNITS    := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/unit/*/test_*.c \
            tests/transport/test_*.c)))
# Files and unit tests that make lab copies into its machines; only units that need a pool are run.
LAB_TOOLS := conformance/csc conformance/csi-sanity
LAB_ZFS   := $(or $(ZFS),$(if $(T),2.1,2.1 2.3))
LAB_UNITS  = $(patsubst %.c,$(BUILD)/%,$(shell grep -l need_pool tests/unit/*/test_*.c))
# Unit tests to run: with T=PART only those with PART in their path.
PICKED    = $(strip $(if $(T),$(foreach unit,$(UNITS),$(if $(findstring $(T),$(unit)),$(unit))),\
            $(UNITS)))
FUZZERS  := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
# Main program of the fuzzers; empty if libFuzzer brings its own (make fuzz).
REPLAY   := $(BUILD)/tests/fuzz/replay.o
WORLD    := $(addprefix $(BUILD)/tests/fuzz/,world_events.o world_sockets.o world_threads.o \
            frames.o)
FLOORS   := node controller zcsi
LIBS      = $(shell pkg-config --libs $(PACKAGES))
# A test that defines __wrap_x replaces x in all of the program.
comma    := ,
wraps     = $(patsubst %,-Wl$(comma)--wrap=%,$(shell nm $(filter %.o,$^) | \
            sed -n 's/.* T __wrap_//p'))

all: $(PROGRAMS:%=$(BUILD)/%) ## build both daemons, zcsi and zcsi-host-volume into build/

$(BUILD)/zcsi-%: $(BUILD)/libzcsi.a
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $(filter %.o,$^) $(BUILD)/libzcsi.a $(LIBS)
$(BUILD)/zcsi-controller: $(filter-out $(BUILD)/controller/cli/% $(BUILD)/controller/host_volume/%,\
		$(call objects,controller))
$(BUILD)/zcsi-node: $(call objects,node)
$(BUILD)/zcsi-host-volume: $(call objects,controller/host_volume controller/request) \
		$(BUILD)/controller/cli/fleet.o $(BUILD)/controller/cli/print/json.o
$(BUILD)/zcsi: $(call objects,controller/cli controller/request) $(BUILD)/libzcsi.a
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $(filter %.o,$^) $(BUILD)/libzcsi.a $(LIBS)

$(BUILD)/libzcsi.a: $(LIBRARY) $(MESSAGES)
	$(call say,AR)
	$(Q)rm -f $@ && ar qcs $@ $^
# Unit tests link every object except the files with main().
.SECONDEXPANSION:
$(BUILD)/lib%.a: $$(filter-out %/main.o,$$(call objects,$$*))
	$(call say,AR)
	$(Q)rm -f $@ && ar qcs $@ $^

# Compile the output of protoc-c without warnings; our own code has to compile without any.
$(BUILD)/%.pb-c.c $(BUILD)/%.pb-c.h: %.proto
	@mkdir -p $(BUILD)
	$(Q)protoc-c -I. -I/usr/include --c_out=$(BUILD) $<
$(BUILD)/google/protobuf/%.pb-c.c $(BUILD)/google/protobuf/%.pb-c.h: \
		/usr/include/google/protobuf/%.proto
	@mkdir -p $(BUILD)
	$(Q)protoc-c -I/usr/include --c_out=$(BUILD) $<
# The older version of server reflection has the same messages in another package.
$(BUILD)/proto/reflection_v1alpha.proto: proto/reflection.proto
	@mkdir -p $(@D)
	$(Q)sed 's/grpc\.reflection\.v1/&alpha/' $< > $@
$(BUILD)/proto/%.pb-c.c $(BUILD)/proto/%.pb-c.h: $(BUILD)/proto/%.proto
	$(Q)protoc-c -I$(BUILD) --c_out=$(BUILD) $<
# Descriptors that server reflection returns, as the contents of a C array.
$(BUILD)/proto/descriptors.inc: $(PROTO:%=proto/%.proto)
	$(Q)protoc -I$(BUILD) -I. -I/usr/include --include_imports \
		--descriptor_set_out=$(@:inc=pb) $^
	$(Q)od -An -v -tx1 $(@:inc=pb) | sed 's/[0-9a-f][0-9a-f]/0x&,/g' > $@
vpath proto/reflection_v1alpha.proto $(BUILD)
$(BUILD)/proto/csi.h: package := csi.v1
$(BUILD)/proto/agent.h $(BUILD)/proto/copy.h: package := zcsi.v1
$(BUILD)/tests/transport/echo.h: package := zcsi.test
$(BUILD)/proto/registration.h: package := pluginregistration
$(BUILD)/proto/health.h: package := grpc.health.v1
$(BUILD)/proto/reflection.h: package := grpc.reflection.v1
$(BUILD)/proto/reflection_v1alpha.h: package := grpc.reflection.v1alpha
$(BUILD)/%.h: $(BUILD)/%.pb-c.h proto/names.awk
	$(Q)awk -v package=$(package) -v file=$* -f proto/names.awk $< > $@
$(BUILD)/%.pb-c.o: $(BUILD)/%.pb-c.c $(NAMES)
	$(call say,CC)
	$(Q)$(compile) -w -c -o $@ $<
$(BUILD)/%.o: %.c | $(NAMES)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(compile) $(WARN) -c -o $@ $<

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(FLOORS:%=$(BUILD)/lib%.a)
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -pthread $(wraps) -o $@ $(filter %.o,$^) $(filter %.a,$^) \
		$(LIBS) -lcmocka
# Rows of the table of tests/follow, each of which the code is asked about.
FOLLOW   := $(BUILD)/tests/follow/rows.h
$(FOLLOW): $(wildcard tests/follow/*.py)
	@mkdir -p $(@D)
	$(Q)python3 -B tests/follow/rows.py > $@
$(BUILD)/tests/unit/node/test_follow.o: $(FOLLOW)
ECHO     := $(BUILD)/tests/transport/echo
ENDS     := $(BUILD)/tests/transport/stream_ends.o
PUMPS    := $(addprefix $(BUILD)/tests/transport/,test_pump test_pump_limit)
STREAMS  := $(addprefix $(BUILD)/tests/transport/,test_stream test_stream_limits) $(PUMPS)
$(ECHO)_server $(ECHO)_client $(STREAMS): $(ECHO).pb-c.o
$(ECHO)_server $(STREAMS): $(ECHO)_service.o
$(ECHO)_server.o $(ECHO)_service.o $(ECHO)_client.o $(ENDS) $(STREAMS:%=%.o): | $(ECHO).h
$(STREAMS): $(ENDS)
$(PUMPS): $(BUILD)/tests/transport/pump_ends.o
$(BUILD)/tests/transport/pump_ends.o: | $(ECHO).h
BULK     := $(BUILD)/tests/bench/bulk.pb-c
$(BUILD)/tests/bench/server $(BUILD)/tests/bench/client: $(BULK).o
$(BUILD)/tests/bench/server.o $(BUILD)/tests/bench/client.o: | $(BULK).h
$(FUZZERS): $(BUILD)/tests/fuzz/fuzz.o $(REPLAY)
$(addprefix $(BUILD)/tests/fuzz/fuzz_,server client http handshake): $(WORLD)
$(addprefix $(BUILD)/tests/fuzz/fuzz_,server handshake): $(BUILD)/tests/fuzz/service.o
$(BUILD)/tests/fuzz/fuzz_client: $(BUILD)/tests/fuzz/asking.o
$(BUILD)/tests/transport/test_fault_cuts: $(BUILD)/tests/transport/middle.o
$(BUILD)/tests/transport/test_fault_memory: $(BUILD)/tests/transport/scarcity.o
$(addprefix $(BUILD)/tests/transport/test_,fault_cuts fault_io fault_memory soak): \
		$(BUILD)/tests/transport/all_kinds.o
$(addprefix $(BUILD)/tests/fuzz/fuzz_,tls handshake): $(BUILD)/tests/fuzz/credentials.o

names: $(NAMES) $(ECHO).h $(BULK).h $(FOLLOW)

test: all $(PICKED) $(if $(T),,$(FUZZERS)) ## units, transport, fuzz replay; no root, no pool
	@ROOTLESS=1 tests/unit/run $(PICKED)
	$(if $(T),,@tests/fuzz/replay $(FUZZERS))
units: $(PICKED) $(FUZZERS)
	@jobs/local/with-zfs tests/unit/run $(PICKED)
	@tests/fuzz/replay $(FUZZERS)

demo: ## both daemons give a workload a dataset, step by step; leaves nothing behind
	@jobs/local/demo
run: ## start both daemons and stay; Ctrl-C stops them, make run-clean removes the pool
	@jobs/local/run
run-clean: ## remove what make run made
	@jobs/local/run-clean
packages: ## install what building, testing and linting need (Debian 12, root)
	@. jobs/local/host.sh && host_packages build pool check shells alerts lint

check: ## make test as root, flags, end to end on a pool; T=FILE or T=PART, K=WORDS: less
	@. jobs/local/host.sh && host_packages build pool check shells alerts
ifeq ($(suffix $(T)),.py)
	@$(MAKE) --no-print-directory -j4 all
	@BUILD=$(BUILD) $(PYTEST) $(T)
else
	@$(MAKE) --no-print-directory -j4 all units
ifndef T
	@CC=$(CC) tests/hardening $(PROGRAMS:%=$(BUILD)/%)
	@BUILD=$(BUILD) $(PYTEST) tests/follow tests/transport tests/e2e tests/alerts
endif
endif
everything: ## each matrix whole, one target after the other: hours
	@for target in check conformance lint fuzz sanitize nomad kubernetes image soak limits \
		check-deb check-rpm upgrade across reboot history; do \
		echo "== make $$target" && $(MAKE) --no-print-directory $$target || exit 1; done
	@echo "== the models, larger" && FOLLOW=larger CLAIMS=larger BUILD=$(BUILD) \
		/usr/bin/python3 -m pytest -q -p no:cacheprovider tests/follow \
		tests/e2e/test_claims_model.py
	@for version in $(LAB_ZFS); do \
		echo "== make lab ZFS=$$version" && \
		$(MAKE) --no-print-directory lab ZFS=$$version || exit 1; done
CLANGD    = cc -std=gnu17 $(filter-out -DZCSI_VERSION%,$(CPPFLAGS)) $(WARN) \
            -DZCSI_VERSION=\\\\\\"$(VERSION)\\\\\\" -c
compile_commands.json: $(NAMES) ## for clangd: how each C file is compiled
	@{ echo '['; git ls-files '*.c' | \
		sed 's|.*|{"directory": "$(CURDIR)", "file": "&", "command": "$(CLANGD) &"},|' | \
		sed '$$s/,$$//'; echo ']'; } > $@
conformance: ## test with csc, csi-sanity, h2spec, grpcurl and gRPC's own stacks (needs Go, node)
	@. jobs/local/host.sh && host_packages build pool check
	@$(MAKE) --no-print-directory -j4 all
	@BUILD=$(BUILD) tests/conformance/build
	@BUILD=$(BUILD) tests/conformance/run
nomad: nomad-host ## the next two (needs Go); T=FILE: less, of the first
	$(if $(T),,@$(MAKE) --no-print-directory nomad-lab)
nomad-host: ## Nomad 1.11, then 1.6, runs the files of jobs/, and uses volumes, on this host
	@. jobs/local/host.sh && host_packages build pool check nomad alerts
	@$(MAKE) --no-print-directory -j4 all
	@BUILD=$(BUILD) tests/nomad/build 1.11 $(OLDER)
	@BUILD=$(BUILD) tests/conformance/build csc
	@tests/jobs $(BUILD)/nomad/nomad-1.11
	@BUILD=$(BUILD) tests/nomad/alone $(PYTEST) --timeout 900 $(or $(T),tests/nomad)
	$(if $(OLDER),@BUILD=$(BUILD) tests/nomad/alone env NOMAD=$(OLDER) $(PYTEST) --timeout 900 \
		$(or $(T),$(NOMAD_OLDER)))
nomad-lab: ## two clients, with OpenZFS: a volume goes where its job goes, one is lost; ZFS=2.3
	@. jobs/local/host.sh && host_packages build check nomad lab
	@$(MAKE) --no-print-directory guest-$(firstword $(LAB_ZFS)) all
	@BUILD=$(BUILD) tests/nomad/build 1.11
	@ZFS=$(firstword $(LAB_ZFS)) BUILD=$(BUILD) LAB_FILES=nomad/nomad-1.11 tests/lab/run \
		env BUILD=build MATRIX=$(MATRIX) \
		tests/nomad/alone $(PYTEST) --timeout 1800 tests/nomad/openzfs
kubernetes: ## a control plane, the sidecars of CSI, and jobs/kubernetes on two nodes (needs Go)
	@. jobs/local/host.sh && host_packages build pool check kubernetes
	@$(MAKE) --no-print-directory -j4 all
	@BUILD=$(BUILD) tests/kubernetes/build
	@BUILD=$(BUILD) tests/kubernetes/alone $(PYTEST) --timeout 600 $(or $(T),tests/kubernetes)
	$(if $(T),,@BUILD=$(BUILD) tests/kubernetes/alone unshare --mount --propagation shared \
		$(PYTEST) --timeout 600 tests/kubernetes/real)
image: ## the container image of jobs/Containerfile, its size, and containers of it put to the test
	@. jobs/local/host.sh && host_packages build pool check nomad image
	@$(MAKE) --no-print-directory -j4 all
	@jobs/local/image zcsi:$(VERSION)
	@BUILD=$(BUILD) tests/nomad/alone unshare --mount --propagation shared $(PYTEST) tests/image
	@BUILD=$(BUILD) tests/nomad/build 1.11
	@BUILD=$(BUILD) tests/nomad/alone unshare --mount --propagation shared \
		$(PYTEST) --timeout 900 tests/nomad/containers
lab: ## the tests that depend on ZFS, on OpenZFS 2.1 and 2.3, in two machines; ZFS=2.3, T=FILE: less
	@. jobs/local/host.sh && host_packages build check lab
	@$(MAKE) --no-print-directory -j4 $(LAB_ZFS:%=guest-%) all $(BUILD)/restic \
		$(if $(T),,$(LAB_UNITS) lab-tools)
ifdef T
	@BUILD=$(BUILD) LAB_FILES=restic tests/lab/run \
		env BUILD=build $(PYTEST) --timeout 1800 $(T)
else
	@BUILD=$(BUILD) LAB_FILES='restic $(LAB_TOOLS) $(LAB_UNITS:$(BUILD)/%=%)' \
		tests/lab/check $(LAB_ZFS)
endif
guests: ## build the machines of lab and nomad-lab, which are otherwise built when first needed
	@. jobs/local/host.sh && host_packages lab
	@$(MAKE) --no-print-directory $(LAB_ZFS:%=guest-%)
guest-%:
	@ZFS=$* LAB=$(BUILD)/lab tests/lab/guest >/dev/null
# The host's restic, because a package more would make the image of the machine another one.
$(BUILD)/restic:
	@cp "$$(command -v restic)" $@
lab-tools:
	@BUILD=$(BUILD) tests/conformance/build csc csi-sanity
lab-shell: ## a shell in such a machine
	@. jobs/local/host.sh && host_packages build lab
	@$(MAKE) --no-print-directory -j4 all
	@BUILD=$(BUILD) tests/lab/run
reboot: ## a machine with OpenZFS loses its power: volumes are used, pushed, or taken over
	@. jobs/local/host.sh && host_packages build lab
	@$(MAKE) --no-print-directory -j4 all
	@BUILD=$(BUILD) tests/lab/reboot
history: ## random moves, killed processes, cut cables, full pools, on both; HISTORIES=20 SEED=1
	@. jobs/local/host.sh && host_packages build check lab
	@$(MAKE) --no-print-directory -j4 $(LAB_ZFS:%=guest-%) all
	@for version in $(LAB_ZFS); do \
		ZFS=$$version BUILD=$(BUILD) LAB_TIMEOUT=86400 tests/lab/run env BUILD=build \
			HISTORIES=$(HISTORIES) SEED=$(SEED) $(PYTEST) --timeout 1800 \
			tests/e2e/openzfs/test_histories.py || exit 1; done
across: ## a machine with OpenZFS 2.1 and one with 2.3 keep copies of each other's volumes
	@. jobs/local/host.sh && host_packages build lab
	@$(MAKE) --no-print-directory -j4 all
	@BUILD=$(BUILD) tests/lab/across
lint: ## check the house rules that a machine can check
	@. jobs/local/host.sh && host_packages build lint
	@$(MAKE) --no-print-directory names
	@BUILD=$(BUILD) tests/lint
format: ## lay out the C as .clang-format says
	@clang-format -i $$(git ls-files '*.c' '*.h')
sanitize: ## both of the next two
	@$(MAKE) --no-print-directory sanitize-asan
	@$(MAKE) --no-print-directory sanitize-tsan
sanitize-asan: ## make check under ASan and UBSan; SLICE=K/N: a part
	@. jobs/local/host.sh && host_packages build pool check shells
	@$(MAKE) --no-print-directory -j4 BUILD=build/asan CFLAGS='$(DEBUG) $(ASAN)' all units
	@BUILD=build/asan GROWTH_KB=$(ASAN_KEEPS) README_CFLAGS='$(ASAN)' TIMES=200 \
		$(PYTEST) tests/transport tests/e2e
sanitize-tsan: ## the units, and the tests of threads, under TSan; SLICE=K/N: a part
	@. jobs/local/host.sh && host_packages build pool check shells
	@$(MAKE) --no-print-directory -j4 BUILD=build/tsan CFLAGS='$(DEBUG) $(TSAN)' all units
	@BUILD=build/tsan $(PYTEST) tests/e2e/test_lifecycle.py tests/e2e/test_concurrency.py \
		tests/e2e/test_metrics.py
limits: ## remove each limit of the transport and check that its test fails; L=LIMIT: one
	@. jobs/local/host.sh && host_packages build check
	@BUILD=$(BUILD) tests/limits $(L)
fuzz: ## run each fuzzer for SECONDS=60; prints how to repeat a finding
	@. jobs/local/host.sh && host_packages build check fuzz
	@$(MAKE) --no-print-directory -j4 BUILD=$(BUILD)/fuzz CC=clang REPLAY= \
		CFLAGS='$(DEBUG) $(ASAN) -fsanitize=fuzzer-no-link' \
		LDFLAGS=-fsanitize=fuzzer fuzzers
	@BUILD=$(BUILD)/fuzz tests/fuzz/run $(SECONDS) $(notdir $(FUZZERS))
fuzzers: $(FUZZERS)
soak: ## CALLS=1000000 over connections that open and close; memory must not grow
	@. jobs/local/host.sh && host_packages build check
	@$(MAKE) --no-print-directory $(BUILD)/tests/transport/test_soak
	@CALLS=$(CALLS) $(BUILD)/tests/transport/test_soak
bench: all ## beside gRPC's own servers and bare zfs; then SCALE=10000 volumes beside ten
	@. jobs/local/host.sh && host_packages build pool check
	@BUILD=$(BUILD) jobs/local/with-zfs /usr/bin/python3 tests/bench/bench.py
	@BUILD=$(BUILD) jobs/local/with-zfs /usr/bin/python3 tests/bench/scale.py
bench-zfs: ## each call beside the bare zfs command, and its processes, on OpenZFS 2.1, or ZFS=2.3
	@. jobs/local/host.sh && host_packages build lab
	@$(MAKE) --no-print-directory -j4 all
	@BUILD=$(BUILD) tests/lab/run env BUILD=build jobs/local/with-zfs /usr/bin/python3 \
		tests/bench/zfs.py
COPY_SIZES := MEGABYTES ROUNDS STREAM VOLUMES EACH SNAPSHOTS
bench-copy: ## a push beside zfs send, socat and zfs receive, and a look at idle copies, in the lab
	@. jobs/local/host.sh && host_packages build lab
	@$(MAKE) --no-print-directory -j4 all
	@BUILD=$(BUILD) tests/lab/run env BUILD=build \
		$(foreach size,$(COPY_SIZES),$(size)=$($(size))) \
		/usr/bin/python3 tests/bench/copying.py
bench-move: ## a move to the other host and back, beside zfs send and zfs receive, in the lab
	@. jobs/local/host.sh && host_packages build lab
	@$(MAKE) --no-print-directory -j4 all
	@BUILD=$(BUILD) tests/lab/run env BUILD=build /usr/bin/python3 tests/bench/moving.py
bench-failover: ## a node with 200 volumes is lost, beside as many zfs renames, in the lab; VOLUMES=
	@. jobs/local/host.sh && host_packages build lab
	@$(MAKE) --no-print-directory -j4 all
	@BUILD=$(BUILD) tests/lab/run env BUILD=build VOLUMES=$(or $(VOLUMES),200) \
		/usr/bin/python3 tests/bench/failing_over.py
bench-transport: ## what a call, a byte and an idle process cost beside gRPC's own servers
	@. jobs/local/host.sh && host_packages build check bench
	@$(MAKE) --no-print-directory all $(BUILD)/tests/bench/server $(BUILD)/tests/bench/client
	@BUILD=$(BUILD) /usr/bin/python3 tests/bench/transport.py

bench-hosts: ## what HOSTS=1000 agents cost a controller, and what it costs if a tenth is down
	@. jobs/local/host.sh && host_packages build check
	@$(MAKE) --no-print-directory all $(BUILD)/tests/bench/agents
	@BUILD=$(BUILD) /usr/bin/python3 tests/bench/hosts.py

install: all ## programs, units, man pages, completion, papers; DESTDIR= PREFIX=
	install -D -m 755 -t $(TO)/sbin $(PROGRAMS:%=$(BUILD)/%)
	install -D -m 644 -t $(TO)/share/man/man8 $(MAN8)
	install -D -m 644 -t $(TO)/share/man/man7 $(MAN7)
	install -D -m 644 -t $(TO)/lib/systemd/system $(DAEMONS:%=jobs/systemd/%.service)
	install -D -m 644 jobs/systemd/zcsi-node.sysusers $(TO)/lib/sysusers.d/zcsi-node.conf
	install -D -m 644 jobs/systemd/zcsi-node.tmpfiles $(TO)/lib/tmpfiles.d/zcsi-node.conf
	install -d $(TO)/share/{bash-completion/completions,zsh/site-functions} \
		$(TO)/share/fish/vendor_completions.d
	$(BUILD)/zcsi completion bash > $(TO)/share/bash-completion/completions/zcsi
	$(BUILD)/zcsi completion zsh > $(TO)/share/zsh/site-functions/_zcsi
	$(BUILD)/zcsi completion fish > $(TO)/share/fish/vendor_completions.d/zcsi.fish
	for each in $(PAPERS); do install -D -m $$([ -x $$each ] && echo 755 || echo 644) \
		$$each $(TO)/share/doc/zcsi/$$each || exit 1; done
	sed -i 's,\(ExecStart=\|default = "\)/usr/local/,\1$(PREFIX)/,' \
		$(TO)/lib/systemd/system/zcsi-{node,controller}.service \
		$(TO)/share/doc/zcsi/jobs/{*.hcl,systemd/*.service}
uninstall: ## remove what install put there; configuration, pools and mounts stay
	rm -f $(PROGRAMS:%=$(TO)/sbin/%) $(addprefix $(TO)/share/man/man8/,$(notdir $(MAN8))) \
		$(addprefix $(TO)/share/man/man7/,$(notdir $(MAN7))) \
		$(DAEMONS:%=$(TO)/lib/systemd/system/%.service) \
		$(TO)/lib/{sysusers,tmpfiles}.d/zcsi-node.conf \
		$(TO)/share/bash-completion/completions/zcsi \
		$(TO)/share/zsh/site-functions/_zcsi \
		$(TO)/share/fish/vendor_completions.d/zcsi.fish
	rm -rf $(TO)/share/doc/zcsi
dist: ## the sources of the newest commit as build/deb/zcsi-VERSION.tar.gz
	@BUILD=$(BUILD) jobs/local/dist
deb: ## Debian packages of the newest commit, in build/deb/, with jobs/debian
	@. jobs/local/host.sh && host_packages build deb
	@BUILD=$(BUILD) jobs/local/deb
rpm: ## packages for Fedora of the newest commit, in build/rpm/, with jobs/rpm/zcsi.spec
	@. jobs/local/host.sh && host_packages build rpm
	@BUILD=$(BUILD) jobs/local/rpm
check-rpm: ## these packages: built twice, and what is in them
	@. jobs/local/host.sh && host_packages build check rpm
	@/usr/bin/python3 -m pytest -q -p no:cacheprovider $(if $(K),-k '$(K)') tests/rpm
check-deb: ## the packages in fresh Debian 12 and 13: built twice, linted, installed, purged
	@. jobs/local/host.sh && host_packages build check deb
	@/usr/bin/python3 -m pytest -q -p no:cacheprovider $(if $(K),-k '$(K)') tests/deb
upgrade: ## 0.1.0 of make install to the packages, while a volume is in use, in the lab
	@. jobs/local/host.sh && host_packages build deb lab
	@$(MAKE) --no-print-directory -j4 all
	@BUILD=$(BUILD) tests/deb/upgrade
clean: ## remove build/
	rm -rf build
help: ## this list
	@sed -n 's/^\([a-z_.-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

.PHONY: all names test units everything compile_commands.json demo run run-clean packages check \
	conformance nomad nomad-host nomad-lab image \
	lab lab-tools lab-shell guests reboot history across lint format sanitize limits \
	fuzz fuzzers soak bench \
	bench-copy bench-move bench-failover bench-zfs bench-transport bench-hosts \
	install uninstall dist deb check-deb rpm check-rpm upgrade clean help
.SECONDARY:
-include $(shell find $(BUILD) -path $(BUILD)/lab -prune -o -type f -name '*.d' -print 2>/dev/null)
