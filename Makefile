# SPDX-License-Identifier: Apache-2.0
#
# One Makefile, no recursion. A room is a directory; its sources are found by wildcard. Its
# sources.mk, where it has one, says which programs it makes and which files are left out.
#
#   make                 all programs, in build/release
#   make demo            install what is missing, build, run the main job
#   make test            install what is missing, build, run all tests
#   make test-web        the tests of the web pages: installs a browser, too
#   make deps            install what is missing
#   make BUILD=asan      with AddressSanitizer and UBSan, in build/asan
#   make bench           measure speed, size and accuracy;  make bench-record  keeps the figures
#   make bench-quick     all benches in a form of seconds, as tests
#   make check           unit tests, fuzz corpora and the checks; no programs are started
#   make install         to $(DESTDIR)$(prefix); configuration to $(DESTDIR)$(sysconfdir)
#   make format          lay out the sources with clang-format 14
#   make t/NAME          build and run one unit or integration test: make t/num
#   make mutate M=PATH   list changes of a module that its tests do not notice;  make mutate-all
#   make V=1             show commands;  make XGBOOST=0  without XGBoost;
#   make SODIUM=0        without signatures;  make LIBSVM=0  without libsvm;  make WERROR=1
#   make BPF=0           the collector without its BPF programs;  make FREEIPMI=0  without IPMI
#   make WEB=0           the daemons without their web pages, which need Node and npm
#   make FLEET=0         without the fleet wing: agents, training in shards, pulls and rollouts
#   make SYSROOT=DIR     for the architecture of the root DIR (etc/dist/sysroot), in build/release-TARGET
#
# tests/checks.mk has the targets that test and check, tests/bench.mk those that measure.
#
# Nothing is written outside $(O).

VERSION := 0.1.0
BUILD   ?= release

# Another architecture, by the compiler of its name. Its programs run by qemu-user, which
# binfmt_misc starts.
ifdef SYSROOT
target      := $(patsubst $(SYSROOT)/usr/lib/%/pkgconfig,%,$(firstword $(wildcard $(SYSROOT)/usr/lib/*/pkgconfig)))
CC          := $(target)-gcc --sysroot=$(abspath $(SYSROOT))
OBJCOPY     := $(target)-objcopy
STRIP       := $(target)-strip
export OBJDUMP := $(target)-objdump
export PKG_CONFIG_SYSROOT_DIR := $(abspath $(SYSROOT))
export PKG_CONFIG_LIBDIR := $(PKG_CONFIG_SYSROOT_DIR)/usr/lib/$(target)/pkgconfig:$(PKG_CONFIG_SYSROOT_DIR)/usr/share/pkgconfig
export QEMU_LD_PREFIX := $(PKG_CONFIG_SYSROOT_DIR)
endif
STRIP   ?= strip
export STRIP
O       ?= build/$(BUILD)$(target:%=-%)

prefix      ?= /usr/local
bindir      ?= $(prefix)/bin
libdir      ?= $(prefix)/lib
includedir  ?= $(prefix)/include
libexecdir  ?= $(prefix)/libexec
datarootdir ?= $(prefix)/share
pkgdatadir  ?= $(datarootdir)/tallywatt
helperdir   ?= $(libexecdir)/tallywatt
mandir      ?= $(datarootdir)/man
bashdir     ?= $(datarootdir)/bash-completion/completions
fishdir     ?= $(datarootdir)/fish/vendor_completions.d
zshdir      ?= $(datarootdir)/zsh/site-functions
docdir      ?= $(datarootdir)/doc/tallywatt
# As everybody has it: /etc for the usual prefixes, else below the prefix.
sysconfdir  ?= $(if $(filter /usr /usr/local,$(prefix)),/etc,$(prefix)/etc)
confdir     ?= $(sysconfdir)/tallywatt
unitdir     ?= $(prefix)/lib/systemd/system
tmpfilesdir ?= $(prefix)/lib/tmpfiles.d
INSTALL     ?= install
PKG_CONFIG  ?= pkg-config
PYTHON      ?= python3
BPF_CLANG   ?= clang
ifeq ($(origin BPFTOOL),undefined)
BPFTOOL := $(shell command -v bpftool || command -v /usr/sbin/bpftool)
endif

.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

, := ,
ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-8s %s\n' $(1) $(2)
endif

# Objects come from ccache where it is installed. CCACHE= does without.
ifeq ($(origin CCACHE),undefined)
CCACHE := $(if $(findstring ccache,$(CC)),,$(shell command -v ccache 2>/dev/null))
endif

# ---- flags -----------------------------------------------------------------
# CFLAGS, CPPFLAGS and LDFLAGS belong to the person who builds. Ours are tw-*.

# The same sources give the same bytes in any directory.
same-paths := -ffile-prefix-map='$(CURDIR)'=.

tw-cflags := -std=c11 -g -pthread -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes \
	-Wmissing-prototypes -Wold-style-definition -Wwrite-strings \
	-Wpointer-arith -Wvla -Wundef -Wformat=2 -Wcast-qual -fno-common \
	-fPIC -fvisibility=hidden $(same-paths)
tw-ldflags := -pthread

ifeq ($(BUILD),release)
tw-cflags   += -O2 -fstack-protector-strong
tw-cppflags += -D_FORTIFY_SOURCE=2
tw-ldflags  += -Wl,-z,relro,-z,now
else ifeq ($(BUILD),debug)
tw-cflags   += -Og
else ifeq ($(BUILD),asan)
tw-cflags   += -O1 -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
else ifeq ($(BUILD),tsan)
tw-cflags   += -O1 -fsanitize=thread -fno-omit-frame-pointer
else ifeq ($(BUILD),cov)
tw-cflags   += -O0 --coverage
else ifeq ($(BUILD),fuzz)
CC          := clang
tw-cflags   += -O1 -fsanitize=address,undefined,fuzzer-no-link \
	-fno-omit-frame-pointer
else
$(error BUILD=$(BUILD): want release, debug, asan, tsan, cov or fuzz)
endif
ifeq ($(WERROR),1)
tw-cflags += -Werror
endif

pc = $(shell $(PKG_CONFIG) $(1) 2>/dev/null)
JANSSON_LIBS := $(call pc,--libs jansson)
ZIP_LIBS     := $(call pc,--libs libzip zlib)
YAML_LIBS    := $(call pc,--libs yaml-0.1)
ZLIB_LIBS    := $(call pc,--libs zlib)
MHD_LIBS     := $(call pc,--libs libmicrohttpd gnutls libcrypt zlib)
CURL_LIBS    := $(call pc,--libs libcurl)
GSL_LIBS     := $(call pc,--libs gsl)
SECCOMP_LIBS := $(call pc,--libs libseccomp)
SQLITE_LIBS  := $(call pc,--libs sqlite3)
TEST_LIBS    := $(call pc,--libs cmocka)

# XGBoost ships no pkg-config file: ask the compiler.
ifndef XGBOOST
XGBOOST := $(shell $(CC) -fsyntax-only -include xgboost/c_api.h -x c /dev/null \
	2>/dev/null && echo 1 || echo 0)
endif
XGBOOST_LIBS := $(if $(filter 1,$(XGBOOST)),-lxgboost)

# Nor does libsvm.
ifndef LIBSVM
LIBSVM := $(shell $(CC) -fsyntax-only -include libsvm/svm.h -x c /dev/null \
	2>/dev/null && echo 1 || echo 0)
endif
LIBSVM_LIBS := $(if $(filter 1,$(LIBSVM)),-lsvm)

# Signatures of pipelines.
SODIUM_LIBS := $(call pc,--libs libsodium)
SODIUM ?= $(if $(SODIUM_LIBS),1,0)
ifeq ($(SODIUM),0)
SODIUM_LIBS :=
endif

# A management controller by IPMI.
FREEIPMI_LIBS := $(call pc,--libs libfreeipmi)
FREEIPMI ?= $(if $(FREEIPMI_LIBS),1,0)
ifeq ($(FREEIPMI),0)
FREEIPMI_LIBS :=
endif

# BPF programs need a clang that can make them, a bpftool that runs (Ubuntu's may be for
# another kernel only) and libbpf.
BPF_LIBS := $(call pc,--libs libbpf)
ifndef BPF
BPF := $(if $(and $(BPF_LIBS),$(BPFTOOL)),$(shell $(BPFTOOL) version >/dev/null 2>&1 && \
	$(BPF_CLANG) -target bpf -fsyntax-only -x c /dev/null 2>/dev/null && \
	echo 1 || echo 0),0)
endif
ifeq ($(BPF),0)
BPF_LIBS :=
endif

# The fleet wing: collectors that sum other collectors, trainings in shards, servers that pull
# pipelines and take part in rollouts.
FLEET ?= 1

tw-cppflags := -iquote . -isystem $(O)/gen -D_GNU_SOURCE -DTW_VERSION='"$(VERSION)"' \
	-DTW_XGBOOST=$(XGBOOST) -DTW_LIBSVM=$(LIBSVM) -DTW_SODIUM=$(SODIUM) -DTW_BPF=$(BPF) \
	-DTW_FREEIPMI=$(FREEIPMI) -DTW_FLEET=$(FLEET) \
	-DTW_MODEL_DB='"$(pkgdatadir)/models"' \
	-DTW_LIBEXEC='"$(helperdir)"' $(tw-cppflags)

# ---- what there is ---------------------------------------------------------

programs :=
# Programs that only ours start.
helpers :=
# Sources of what is not built here.
left-out :=
rooms := lib web profiler model-db estimator isolator trainer server bpf collector cli
include $(wildcard $(rooms:%=%/sources.mk))
# $(call files,h): those of a kind in all rooms.
files = $(sort $(foreach r,$(rooms),$(wildcard $r/*.$(1) $r/*/*.$(1) $r/*/*/*.$(1))))
include tests/sources.mk

# ---- libtallywatt ----------------------------------------------------------

# The shared object's name changes when what is in it does not stay as it was.
SOVERSION    := 0
solib        := libtallywatt.so.$(SOVERSION)
library      := $(O)/$(solib) $(O)/libtallywatt.so $(O)/libtallywatt.a $(O)/tallywatt.pc
library-libs := $(JANSSON_LIBS) $(ZLIB_LIBS) -lm

all: $(programs:%=$(O)/%) $(helpers:%=$(O)/%) $(library)

mains    := $(foreach p,$(programs) $(helpers),$($(p)-src))
lib-objs := $(patsubst %.c,$(O)/%.o,\
	$(filter-out $(mains) $(left-out) %.bpf.c,$(call files,c)))
all-objs := $(lib-objs) $(patsubst %.c,$(O)/%.o,\
	$(foreach p,$(programs) $(helpers),$($p-src)) $(test-src) $(test-support) $(fuzz-src) \
	tests/fuzz/replay.c tests/fake/nvml.c tests/fake/amdsmi.c tests/fake/freeipmi.c \
	tests/fake/faults.c)
headers  := $(filter-out %.bpf.h,$(call files,h) $(wildcard tests/unit/*.h tests/unit/*/*.h))

# ---- how to make it --------------------------------------------------------

# Rebuild everything when the compiler or any flag changes.
flags-now := $(CC) $(tw-cflags) $(CFLAGS) $(tw-cppflags) $(CPPFLAGS) \
	$(tw-ldflags) $(LDFLAGS)
$(O)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(flags-now))' | cmp -s - $@ || \
		printf '%s\n' '$(subst ','\'',$(flags-now))' >$@

$(O)/%.o: %.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CCACHE) $(CC) $(tw-cflags) $(CFLAGS) $(tw-cppflags) $(CPPFLAGS) \
		-MMD -MP -c $< -o $@

$(O)/libtw.a: $(lib-objs)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^

# What a binary release has: programs that look for libraries beside them, and in what those load.
portable := $(addprefix $(O)/portable/,$(programs) $(helpers))
$(portable): tw-ldflags += -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../../lib/tallywatt:$$ORIGIN/../lib/tallywatt'

define program
$(O)/$(1) $(O)/portable/$(1): $(patsubst %.c,$(O)/%.o,$($(1)-src)) $(O)/libtw.a
	$$(call say,LINK,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(tw-cflags) $$(CFLAGS) $$(tw-ldflags) $$(LDFLAGS) \
		$$^ $($(1)-libs) $$(LDLIBS) -lm -o $$@
endef
$(foreach p,$(programs) $(helpers),$(eval $(call program,$(p))))

# ---- BPF -------------------------------------------------------------------

# clang -target bpf does not look where the C library keeps asm/. Computed at the first use, and
# only once.
bpf-include = $(eval bpf-include := $(addprefix -idirafter ,$(shell $(BPF_CLANG) -v -E -x c - \
	</dev/null 2>&1 | sed -n '/<...> search starts here:/,/End of/{s|^ ||;/^\//p}')))$(bpf-include)

$(O)/%.bpf.o: %.bpf.c $(O)/flags
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(BPF_CLANG) -target bpf -g -O2 $(same-paths) -Wall -Wextra -Wno-unused-parameter -Werror \
		-iquote . $(bpf-include) -MMD -MP -c $< -o $@

# Generated headers live apart, behind -isystem: our warnings are not for them. libbpf 1.5 detaches
# as many programs as are counted, even where their array had no memory.
$(O)/gen/%.skel.h: $(O)/%.bpf.o
	$(call say,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name $(*F)_bpf >$@
	$(Q)sed -i 's/^\tif (!s->\(map\|prog\)s) {$$/&\n\t\ts->\1_cnt = 0;/' $@

# Files that are part of a program: their bytes as numbers.
to-bytes = od -An -v -tu1 | sed 's/  */,/g; s/^,//; s/$$/,/'

# The description of a daemon's API, without the paths that this build has not.
$(O)/gen/%/openapi.inc: %/openapi.json $(O)/flags
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)sed -e '' $(paths-left-out:%=-e '\|^  "%": {$$|,/^  },$$/d') $< | $(to-bytes) >$@

$(O)/$(solib): $(O)/estimator/libtallywatt.o $(O)/libtw.a estimator/tallywatt.map
	$(call say,LINK,$@)
	$(Q)$(CC) -shared $(tw-cflags) $(CFLAGS) $(tw-ldflags) $(LDFLAGS) \
		-Wl,-soname,$(solib) -Wl,--version-script,estimator/tallywatt.map \
		$(if $(filter release,$(BUILD)),-Wl$(,)--no-undefined) \
		$(O)/estimator/libtallywatt.o $(O)/libtw.a $(library-libs) $(LDLIBS) -o $@

$(O)/libtallywatt.so: $(O)/$(solib)
	$(Q)ln -sf $(solib) $@

# One object, in which only what the header names can be seen from outside: so it has no
# second copy of all for link time optimisation, which distributions' flags would make.
OBJCOPY ?= objcopy
$(O)/libtallywatt.a: $(O)/estimator/libtallywatt.o $(O)/libtw.a
	$(call say,AR,$@)
	$(Q)$(CC) -fno-lto -r -nostdlib $^ -o $(O)/libtallywatt.o
	$(Q)$(OBJCOPY) --localize-hidden --remove-section='.gnu.*lto_*' $(O)/libtallywatt.o
	$(Q)rm -f $@ && $(AR) rcsD $@ $(O)/libtallywatt.o

$(O)/tallywatt.pc: estimator/tallywatt.pc.in $(O)/flags
	$(Q)sed -e 's|@prefix@|$(prefix)|; s|@libdir@|$(libdir)|' \
		-e 's|@includedir@|$(includedir)|; s|@version@|$(VERSION)|' $< >$@

# ---- manual pages ----------------------------------------------------------

man-pages := $(patsubst docs/%,$(O)/%,$(wildcard docs/man/*.[1-8]))
# The options of a page are those that its program prints.
fill-options := awk -v fleet=$(FLEET) -f docs/man/options.awk
$(O)/man/%.1: docs/man/%.1 docs/man/options.awk $(O)/%
	@mkdir -p $(@D)
	$(Q)$(fill-options) -v program=$(O)/$* $< >$@

# ---- tests -----------------------------------------------------------------

all-libs := $(JANSSON_LIBS) $(ZIP_LIBS) $(MHD_LIBS) $(YAML_LIBS) $(CURL_LIBS) $(GSL_LIBS) $(SQLITE_LIBS) \
	$(XGBOOST_LIBS) $(LIBSVM_LIBS) $(SODIUM_LIBS) $(BPF_LIBS) $(SECCOMP_LIBS) $(FREEIPMI_LIBS)

tests := $(patsubst %.c,$(O)/%,$(test-src))

# What looks like a library that only some machines have.
fakes := $(O)/tests/fake/libnvidia-ml.so.1 $(O)/tests/fake/libamd_smi.so \
	$(O)/tests/fake/libfreeipmi.so $(O)/tests/fake/libfaults.so
$(O)/tests/fake/libnvidia-ml.so.1: $(O)/tests/fake/nvml.o
$(O)/tests/fake/libamd_smi.so: $(O)/tests/fake/amdsmi.o
$(O)/tests/fake/libfreeipmi.so: $(O)/tests/fake/freeipmi.o
$(O)/tests/fake/libfaults.so: $(O)/tests/fake/faults.o
$(fakes):
	$(call say,LINK,$@)
	$(Q)$(CC) -shared $(tw-cflags) $(CFLAGS) $(tw-ldflags) $(LDFLAGS) $^ -o $@

# An archive: a test is linked with what it uses of the fixtures and no more.
$(O)/libtest.a: $(test-support:%.c=$(O)/%.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# TEST_LDFLAGS=-fuse-ld=gold links tests in a third of the time, and no program otherwise.
# Allocation goes through tests/unit/fail_alloc.c, which can fail the nth call. It is
# linked whatever the test uses: the objects of libtw.a call it, too.
wrap := malloc calloc realloc strdup
$(tests): $(O)/%: $(O)/%.o $(O)/tests/unit/fail_alloc.o $(O)/libtest.a $(O)/libtw.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(tw-cflags) $(CFLAGS) $(tw-ldflags) $(LDFLAGS) $(TEST_LDFLAGS) $^ \
		$(wrap:%=-Wl,--wrap=%) $(test-wrap-$(@F):%=-Wl,--wrap=%) \
		$(TEST_LIBS) $(all-libs) -lm -o $@

# A fuzz target is linked with libFuzzer in BUILD=fuzz, and otherwise with a
# driver that replays its corpus, so that every compiler runs every past crash.
fuzzers := $(patsubst %.c,$(O)/%,$(fuzz-src))
fuzz-engine := $(if $(filter fuzz,$(BUILD)),-fsanitize=fuzzer,$(O)/tests/fuzz/replay.o)
$(fuzzers): $(O)/%: $(O)/%.o $(O)/libtw.a $(if $(filter fuzz,$(BUILD)),,$(O)/tests/fuzz/replay.o)
	$(call say,LINK,$@)
	$(Q)$(CC) $(tw-cflags) $(CFLAGS) $(tw-ldflags) $(LDFLAGS) $(TEST_LDFLAGS) $< $(fuzz-engine) \
		$(O)/libtw.a $(all-libs) -lm -o $@

include tests/checks.mk
include tests/bench.mk
include tests/kernels.mk
include tests/nightly.mk

# The models that ship, from recordings that do not (docs/model-db.md).
TW_SHARED ?= ../shared
models: all
	model-db/make-models $(O)/tallywatt $(TW_SHARED)/data model-db/models

# The prior of machines, which ships with them, from published results (docs/machines.md).
prior: $(O)/model-db/learning/machine_facts
	model-db/learning/learn-prior --facts $< --input $(TW_SHARED)/data/specpower/specpower.csv \
		$(TW_SHARED)/data/specpower/specpower_2022.csv \
		--output model-db/models/machines/prior.json

# ---- install ---------------------------------------------------------------

models    := $(shell find model-db/models -type f 2>/dev/null)
units     := $(wildcard etc/systemd/*.service etc/systemd/*.socket)
confs     := $(wildcard etc/tallywatt/*.conf)

# Units and configurations name where things were installed. DESTDIR is no part of that.
placed := sed -e 's|@bindir@|$(bindir)|g' -e 's|@confdir@|$(confdir)|g' \
	-e 's|@pkgdatadir@|$(pkgdatadir)|g' $(if $(filter 0,$(FLEET)),-e '/^\# The models that ship/$(,)/^pull = /d')
examples := $(pkgdatadir)/examples
completions := $(bashdir)/tallywatt $(zshdir)/_tallywatt $(fishdir)/tallywatt.fish $(foreach p,$(filter tw-%,$(programs)),\
	$(bashdir)/$p $(fishdir)/$p.fish)

install: all
	$(INSTALL) -d $(DESTDIR)$(bindir) $(DESTDIR)$(helperdir) $(DESTDIR)$(pkgdatadir)/models
	$(INSTALL) -m 755 $(programs:%=$(O)/%) $(DESTDIR)$(bindir)
	$(INSTALL) -m 755 $(helpers:%=$(O)/%) $(DESTDIR)$(helperdir)
	$(INSTALL) -d $(DESTDIR)$(libdir)/pkgconfig $(DESTDIR)$(includedir)
	$(INSTALL) -m 755 $(O)/$(solib) $(DESTDIR)$(libdir)
	ln -sf $(solib) $(DESTDIR)$(libdir)/libtallywatt.so
	$(INSTALL) -m 644 $(O)/libtallywatt.a $(DESTDIR)$(libdir)
	$(INSTALL) -m 644 $(O)/tallywatt.pc $(DESTDIR)$(libdir)/pkgconfig
	$(INSTALL) -m 644 estimator/tallywatt.h $(DESTDIR)$(includedir)
	@set -e; for f in $(notdir $(man-pages)); do \
		d=$(DESTDIR)$(mandir)/man$${f##*.}; $(INSTALL) -d $$d; \
		$(fill-options) -v program=$(O)/$${f%.*} docs/man/$$f >$$d/$$f; chmod 644 $$d/$$f; done
	$(INSTALL) -d $(DESTDIR)$(bashdir) $(DESTDIR)$(fishdir) $(DESTDIR)$(zshdir)
	$(O)/tallywatt completion bash >$(DESTDIR)$(bashdir)/tallywatt
	$(O)/tallywatt completion fish >$(DESTDIR)$(fishdir)/tallywatt.fish
	$(O)/tallywatt completion zsh >$(DESTDIR)$(zshdir)/_tallywatt
	@# bash and fish look for a file of the program's name.
	@set -e; for d in $(filter tw-%,$(programs)); do \
		echo '. "$${BASH_SOURCE[0]%/*}/tallywatt"' >$(DESTDIR)$(bashdir)/$$d; \
		echo 'source (status dirname)/tallywatt.fish' >$(DESTDIR)$(fishdir)/$$d.fish; done
	chmod 644 $(completions:%=$(DESTDIR)%)
	$(INSTALL) -d $(DESTDIR)$(docdir)
	$(INSTALL) -m 644 LICENSE $(DESTDIR)$(docdir)
	@set -e; for f in $(models); do \
		d=$(DESTDIR)$(pkgdatadir)/$$(dirname $${f#model-db/}); \
		$(INSTALL) -d $$d; $(INSTALL) -m 644 $$f $$d; done
	$(INSTALL) -d $(DESTDIR)$(unitdir) $(DESTDIR)$(tmpfilesdir) \
		$(DESTDIR)$(examples) $(DESTDIR)$(confdir)
	$(INSTALL) -m 644 $(units) $(DESTDIR)$(unitdir)
	$(INSTALL) -m 644 $(confs) $(wildcard etc/prometheus/*.yml) $(DESTDIR)$(examples)
	$(INSTALL) -d $(DESTDIR)$(examples)/grafana
	$(INSTALL) -m 644 $(wildcard etc/grafana/*.json) $(DESTDIR)$(examples)/grafana
	$(INSTALL) -m 755 etc/slurm/tallywatt-epilog $(DESTDIR)$(examples)
	$(placed) -i $(units:etc/systemd/%=$(DESTDIR)$(unitdir)/%) \
		$(confs:etc/tallywatt/%=$(DESTDIR)$(examples)/%)
	$(INSTALL) -m 644 etc/tmpfiles.d/tallywatt.conf $(DESTDIR)$(tmpfilesdir)
	@# A configuration that is there is its administrator's.
	@set -e; for f in $(notdir $(confs)); do \
		new=$(DESTDIR)$(examples)/$$f; there=$(DESTDIR)$(confdir)/$$f; \
		if [ ! -e $$there ] && [ ! -L $$there ]; then \
			echo "$(INSTALL) -m 644 $$new $$there"; \
			$(INSTALL) -m 644 $$new $$there; \
		elif ! cmp -s $$new $$there; then \
			echo "kept $$there; the sample is $$new"; fi; done

uninstall:
	rm -f $(programs:%=$(DESTDIR)$(bindir)/%)
	rm -rf $(DESTDIR)$(helperdir)
	rm -f $(DESTDIR)$(libdir)/$(solib) $(DESTDIR)$(libdir)/libtallywatt.so \
		$(DESTDIR)$(libdir)/libtallywatt.a $(DESTDIR)$(includedir)/tallywatt.h \
		$(DESTDIR)$(libdir)/pkgconfig/tallywatt.pc
	rm -f $(completions:%=$(DESTDIR)%)
	@for f in $(man-pages); do rm -f $(DESTDIR)$(mandir)/man$${f##*.}/$${f##*/}; done
	rm -f $(patsubst etc/systemd/%,$(DESTDIR)$(unitdir)/%,$(units))
	rm -f $(DESTDIR)$(tmpfilesdir)/tallywatt.conf
	@for f in $(notdir $(confs)); do there=$(DESTDIR)$(confdir)/$$f; \
		if cmp -s $(DESTDIR)$(examples)/$$f $$there; then \
			echo "rm -f $$there"; rm -f $$there; \
		elif [ -e $$there ]; then echo "kept $$there"; fi; done
	@rmdir $(DESTDIR)$(confdir) 2>/dev/null || :
	rm -rf $(DESTDIR)$(pkgdatadir) $(DESTDIR)$(docdir)

# Two images for Kubernetes and others, with buildah (as root, or in a user namespace). The same
# programs give the same image, whenever it is made.
machine    = $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
image-arch = $(patsubst aarch64,arm64,$(patsubst x86_64,amd64,$(machine)))
IMAGE_TAG ?= $(VERSION)$(if $(SYSROOT),-$(image-arch))
image-programs-node   := tw-collector tw-estimator
image-programs-server := tw-server tw-trainer tallywatt
image-archives := image-archive-node image-archive-server
images: image-node image-server
image-%: all
	etc/containers/stage $(O) $(O)/images/$* $(VERSION) $(image-programs-$*)
	buildah bud --arch $(image-arch) --isolation chroot --layers=false --timestamp 0 --format oci \
		-f etc/containers/$*.Containerfile -t tallywatt-$*:$(IMAGE_TAG) $(O)/images

# Archives of them for podman load and docker load, each with its bill of materials beside it.
image-archives: $(image-archives)
archives ?= $(O)/dist
archive   = $(archives)/tallywatt-$*-$(IMAGE_TAG)
image-archive-%: image-%
	mkdir -p $(archives)
	rm -f $(archive).oci.tar
	buildah push -q tallywatt-$*:$(IMAGE_TAG) oci-archive:$(archive).oci.tar:tallywatt-$*:$(IMAGE_TAG)
	cp $(O)/images/$*/usr/local/share/doc/tallywatt/sbom.spdx.json $(archive).spdx.json

# Archives that have each image for several architectures: this one, and those of the roots ALSO=DIR.
image-lists: $(image-archives:image-archive-%=image-list-%)
image-list-%: image-archive-%
	rm -f $(archive)-*
	$(foreach d,$(ALSO),$(MAKE) --no-print-directory SYSROOT=$d archives=$(abspath $(archives)) image-archive-$* &&) :
	! buildah manifest exists tallywatt-list-$* || buildah manifest rm tallywatt-list-$*
	buildah manifest create tallywatt-list-$*
	for a in $(archive).oci.tar $(archive)-*.oci.tar; do buildah manifest add tallywatt-list-$* oci-archive:$$a || exit 1; done
	buildah manifest push -q --all tallywatt-list-$* oci-archive:$(archive)-all.oci.tar:tallywatt-$*:$(IMAGE_TAG)
	buildah manifest rm tallywatt-list-$*

# The documentation as web pages in $(O)/site/html, with mkdocs and its theme material.
MKDOCS ?= mkdocs
site:
	etc/site/stage $(O)/site
	cd $(O)/site && $(MKDOCS) build --quiet --strict --site-dir html

# The sources of the last commit as a tarball, with the web pages bundled: who builds it needs neither
# Node nor npm. WEB=0 is without pages; where they cannot be bundled, there is no tarball. The same
# commit gives the same bytes.
dist-name := tallywatt-$(VERSION)
tarball   := $(O)/dist/$(dist-name).tar.gz
tar-bytes := --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw \
	--mtime=@$(shell git log -1 --format=%ct 2>/dev/null || echo 0) --format=ustar
dist-source:
	rm -rf $(O)/dist && mkdir -p $(O)/dist/pages
	git archive --format=tar --prefix=$(dist-name)/ HEAD >$(O)/dist/$(dist-name).tar
	$(if $(filter command environment,$(firstword $(origin WEB))),,$(Q)web/modules '$(NODE)' '$(NPM)' '$(WEB_MODULES)')
	$(if $(filter 0,$(WEB)),,git archive HEAD web | tar -x -C $(O)/dist/pages)
	$(if $(filter 0,$(WEB)),,$(NODE) $(O)/dist/pages/web/build.mjs $(O)/dist/pages/bundle $(WEB_MODULES))
	$(if $(filter 0,$(WEB)),,@set -e; for m in $(web-linked); do cp $(WEB_MODULES)/$$m/LICENSE $(O)/dist/pages/bundle/$$m.LICENSE; done)
	$(if $(filter 0,$(WEB)),,tar -r $(tar-bytes) --transform 's|^bundle|$(dist-name)/web/bundle|' -C $(O)/dist/pages \
		-f "$(abspath $(O))/dist/$(dist-name).tar" bundle)
	gzip -9n $(O)/dist/$(dist-name).tar && rm -r $(O)/dist/pages

# Packages of the tarball by rpmbuild. On Debian, whose packages rpm does not know, it takes them as
# installed, and makes no packages of debug information. DEB_BUILD_OPTIONS=nocheck is for these packages, too.
RPMBUILD_FLAGS ?= $(if $(wildcard /etc/debian_version),--nodeps --define 'debug_package %{nil}' \
	--define 'build_ldflags -s')
rpm: dist-source
	rm -rf $(O)/rpm && mkdir -p $(O)/rpm
	rpmbuild -bb $(RPMBUILD_FLAGS) $(if $(filter nocheck,$(DEB_BUILD_OPTIONS)),--without tests) --define '_topdir $(abspath $(O))/rpm' --define '_sourcedir $(abspath $(O))/dist' \
		etc/rpm/tallywatt.spec
	if command -v rpmlint >/dev/null; then rpmlint -r etc/rpm/tallywatt.rpmlintrc etc/rpm/tallywatt.spec $(O)/rpm/RPMS/*/*.rpm; fi

# A release for machines like this one: programs, the libraries that they load, and install.sh. It is
# of the sources as they are; the same programs and libraries give the same bytes.
binary-name = $(dist-name)-linux-$(machine)
dist-binary: all $(portable)
	rm -rf $(O)/binary && mkdir -p $(O)/binary $(O)/dist
	$(MAKE) --no-print-directory -s -o all install DESTDIR=$(O)/binary/installed prefix=/usr/local
	etc/dist/stage $(O)/portable $(O)/binary/installed/usr/local $(O)/binary/$(binary-name)
	tar -c $(tar-bytes) -C $(O)/binary $(binary-name) | gzip -9n >$(O)/dist/$(binary-name).tar.gz

# A release: sources and programs of the last commit, SPDX list of the parts of these, checksums;
# SIGN_KEY=FILE signs these with minisign.
dist: dist-source
	git diff --quiet HEAD || { echo 'make dist: there are changes that are not committed' >&2; exit 1; }
	$(if $(filter 0,$(BINARY)),,$(MAKE) --no-print-directory dist-binary)
	$(MAKE) --no-print-directory dist-sums
dist-sums:
	etc/sbom $(VERSION) $(tarball) \
		"$$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)" \
		>$(O)/dist/$(dist-name).spdx.json
	cd $(O)/dist && sha256sum tallywatt*$(VERSION)* >SHA256SUMS
	$(if $(SIGN_KEY),minisign -S -s '$(SIGN_KEY)' -t 'tallywatt $(VERSION)' -m $(O)/dist/SHA256SUMS)

# Debian packages of the tarball; etc/debian becomes debian/.
deb-tree = $(O)/deb/$(dist-name)
deb: dist-source
	rm -rf $(O)/deb && mkdir -p $(O)/deb
	tar -x -C $(O)/deb -f $(tarball)
	cp -r $(deb-tree)/etc/debian $(deb-tree)/debian
	cd $(deb-tree) && dpkg-buildpackage -us -uc -b
	if command -v lintian >/dev/null; then lintian --allow-root --suppress-tags initial-upload-closes-no-bugs \
		$(O)/deb/*.changes; fi

clean:
	rm -rf $(O)

-include $(all-objs:.o=.d) $(patsubst %.bpf.c,$(O)/%.bpf.d,$(bpf-programs))

.PHONY: all models prior install uninstall images image-archives image-lists site deb rpm dist dist-source dist-binary dist-sums clean FORCE
.DEFAULT_GOAL := all
