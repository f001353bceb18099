# SPDX-License-Identifier: Apache-2.0
# How fast, how small, how good: make bench, or one of its parts (docs/bench.md).
#
# A part is a file tests/bench/targets/NAME.mk, which puts its target's name in `benches` and its
# C programs, if it has any, in `bench-src`:
#
#	benches += bench-name
#	bench-src += tests/bench/helper.c	becomes $(O)/tests/bench/helper
#	bench-name: all $(O)/tests/bench/helper
#		@$(bench) tests/bench/bench_name.py
#
# tests/bench/bench.py runs, measures, prints tables and tells what is met and missed. A
# part that misses a goal exits 1; make bench runs the others all the same.

# make bench-quick runs all of them in a form of seconds, as tests: .ci/run does. make bench-record
# runs them whole and appends their figures to docs/bench.csv; make nightly-bench fails where a
# figure is more than 10 % worse there. B="bench-server bench-train": these only.

benches :=
# Not part of make bench: they fill the machine, or want other programs.
benches-apart := bench-scrapes bench-shards
# Not in bench-quick: seconds are too few for what they measure.
benches-whole :=
bench-src :=
bench = $(test-env) TW_BENCH="$(abspath $(O))" \
	$(if $(TW_BENCH_QUICK),$(run) one $@,$(guard)) $(PYTHON)
include $(sort $(wildcard tests/bench/targets/*.mk))
ifneq ($(FLEET),1)
benches := $(filter-out bench-agents bench-fleet bench-rollout,$(benches))
endif

all-objs += $(bench-src:%.c=$(O)/%.o)
bench-programs := $(bench-src:%.c=$(O)/%)
$(bench-programs): $(O)/%: $(O)/%.o $(O)/libtw.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(tw-cflags) $(CFLAGS) $(tw-ldflags) $(LDFLAGS) $(filter %.o,$^) $(O)/libtw.a \
		$(all-libs) -lm -o $@

# One after the other, whatever -j says: they measure time.
bench: all $(bench-programs)
	@fail=0; for t in $(benches); do \
		$(MAKE) --no-print-directory -j1 $$t || fail=1; done; exit $$fail

bench-record nightly-bench: all $(bench-programs)
	@fail=0; for t in $(or $(B),$(benches)); do \
		TW_BENCH_RECORD=docs/bench.csv TW_BENCH_JUDGE=$(filter nightly-bench,$@) \
			$(MAKE) --no-print-directory -j1 $$t || fail=1; done; exit $$fail

# They wait more than they compute, and their times are not judged.
BENCH_JOBS := 4
bench-quick: all $(bench-programs)
	@TW_BENCH_QUICK=1 $(MAKE) --no-print-directory -k -j$(BENCH_JOBS) --output-sync=target \
		$(or $(B),$(filter-out $(benches-whole),$(benches)) $(benches-apart))

.PHONY: bench bench-quick bench-record nightly-bench $(benches) $(benches-apart)
