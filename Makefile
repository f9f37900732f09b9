# SPDX-License-Identifier: GPL-2.0-only
#
# dm-optcache: the module and its tool.  `make help` lists what there is.
# Nothing is ever written outside build/ except by install.

KERNELVER ?= $(shell uname -r)
KDIR ?= $(wildcard /lib/modules/$(KERNELVER)/build)

# install: a private tree for each of these makes it a rehearsal
DKMSTREE ?=
SOURCETREE ?= /usr/src
INSTALLTREE ?=

VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
stage := build/module
dkms-source := $(SOURCETREE)/dm-optcache-$(VERSION)
module-files := Kbuild dkms.conf COPYING include drivers

dkms = dkms $(1) $(if $(DKMSTREE),--dkmstree $(DKMSTREE)) --sourcetree $(SOURCETREE) \
	$(if $(INSTALLTREE),--installtree $(INSTALLTREE) --no-depmod) dm-optcache/$(VERSION)

no-headers = no kernel headers for $(KERNELVER): install them \
	(Debian: apt-get install linux-headers-$(KERNELVER)) \
	or name another kernel: make KDIR=<its build folder>

.PHONY: all
all: $(if $(KDIR),module,no-module) tool	## the module (if there are kernel headers) and the tool

.PHONY: no-module
no-module:
	@echo "dm-optcache: $(no-headers); building the tool only"

# Links to the sources, so that kbuild leaves its files under build/; 6.1 knows no other way.
.PHONY: module
module:				## build/module/dm-optcache.ko; KDIR=<kernel build folder>
	@$(if $(KDIR),,echo "dm-optcache: $(no-headers)" >&2; exit 1)
	@mkdir -p $(stage)
	@find $(stage) -xtype l -delete
	@cp -rsf $(addprefix $(CURDIR)/,Kbuild include drivers) $(stage)/
	+$(MAKE) -C $(KDIR) M=$(CURDIR)/$(stage) modules

.PHONY: tool
tool:				## optcachectl
	+$(MAKE) -C tools/optcachectl

.PHONY: static
static:				## build/optcachectl-rescue: static, for rescue systems
	+$(MAKE) -C tools/optcachectl RESCUE=1

.PHONY: demo
demo:				## a slow disk with and without the cache, in QEMU; see tests/demo
	@tests/demo/run

build:
	@mkdir -p $@

.PHONY: check
check: | build			## the tests for every commit, the README's test command
	@tests/prepare >build/prepare.log 2>&1 || { tail -5 build/prepare.log >&2; exit 1; }
	@tests/check

.PHONY: check-full
check-full: | build		## all of them, with the slow ones
	@tests/prepare >build/prepare.log 2>&1 || { tail -5 build/prepare.log >&2; exit 1; }
	@tests/check --full

.PHONY: check-kernels
check-kernels:			## W=1 and sparse on 6.1, 6.12 and the newest 7.x; checkpatch
	@tests/static/run

.PHONY: model
model:				## the commit protocol, state by state, and without each of its rules
	@$(MAKE) -s --no-print-directory -C tests/model check

.PHONY: model-full
model-full:			## its large cases, half an hour to two
	@$(MAKE) -s --no-print-directory -C tests/model full

.PHONY: interleave
interleave:			## the core's concurrent operations, in every order of their steps
	@$(MAKE) -s --no-print-directory -C tests/interleave check

.PHONY: fuzz
fuzz:				## every decoder and parser, under libFuzzer: FUZZ_SECONDS= each (60)
	@tests/fuzz/run --seconds $(or $(FUZZ_SECONDS),60)

.PHONY: fuzz-kernel
fuzz-kernel:			## mutated images, activated under KASAN: COUNT= images (1000), SEED=
	@tests/fuzz/kernel/run --count $(or $(COUNT),1000) --seed $(or $(SEED),1)

.PHONY: durability
durability:			## how long durable writes take, beside dm-cache, dm-writecache, bcache
	@tests/bench/durability/run

.PHONY: bench-cpu
bench-cpu:			## instructions per I/O, to build/results/cpu.json
	@tests/bench/cpu/run

crash-words = $(if $(SEEDS),--seeds $(SEEDS)) $(if $(FIRST),--first $(FIRST)) \
	$(if $(TARGET),--target $(TARGET)) $(if $(WITHOUT),--without $(WITHOUT)) $(if $(LIE),--lie $(LIE))

.PHONY: crash
crash:				## simulated power cuts: SEEDS= FIRST= TARGET= WITHOUT= LIE=, see tests/crash
	@tests/crash/run $(crash-words)

.PHONY: crash-shrink
crash-shrink:			## SEED=: what it takes to make this one fail
	@tests/crash/run $(crash-words) --shrink $(or $(SEED),$(error SEED= is missing))

.PHONY: crash-mutants
crash-mutants:			## broken modules are found out
	@tests/crash/run $(crash-words) --mutants

.PHONY: realcut
realcut:			## power cuts of ext4, XFS and SQLite in QEMU, on disks with a volatile cache
	@tests/realcut/run

.PHONY: install
install: install-module install-tool	## DKMS module, tool, man page; PREFIX= DESTDIR= for the tool,
## KERNELVER= KDIR= DKMSTREE= SOURCETREE= INSTALLTREE= for DKMS

.PHONY: install-module
install-module:
	@command -v dkms >/dev/null || { echo "dm-optcache: dkms is missing:" \
		"install it (Debian: apt-get install dkms), then make install" >&2; exit 1; }
	$(if $(DKMSTREE),mkdir -p $(DKMSTREE))
	$(if $(INSTALLTREE),mkdir -p $(INSTALLTREE)/$(KERNELVER))
	@# a build of this version that is already there would be taken for this one
	-$(call dkms,remove) -k $(KERNELVER) 2>/dev/null
	rm -rf $(dkms-source)
	mkdir -p $(dkms-source)
	cp -r $(module-files) $(dkms-source)/
	$(call dkms,install) -k $(KERNELVER) $(if $(KDIR),--kernelsourcedir $(KDIR))

.PHONY: install-tool
install-tool:
	+$(MAKE) -C tools/optcachectl install

.PHONY: uninstall
uninstall:			## the same variables as for install
	-$(call dkms,remove) --all
	rm -rf $(dkms-source)
	+$(MAKE) -C tools/optcachectl uninstall

.PHONY: clean
clean:				## everything that was built
	rm -rf build

.PHONY: help
help:				## this list
	@awk -F':|##' '/^[a-z-]+:.*##/ { printf "  make %-15s %s\n", $$1, $$NF; next } \
		/^## / { printf "  %-20s %s\n", "", $$NF }' Makefile
