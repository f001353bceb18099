# SPDX-License-Identifier: Apache-2.0
# How fast, how small, how good: make bench, or one of its parts (docs/bench.md).
#
# A part is a file tests/bench/NAME.mk, which puts its target's name in `benches` and its
# C programs, if it has any, in `bench-src`:
#
#	benches += bench-name
#	bench-src += tests/bench/helper.c	becomes $(O)/tests/bench/helper
#	bench-name: all $(O)/tests/bench/helper
#		@$(bench) tests/bench/bench_name.py
#
# tests/bench/bench.py runs, measures, prints tables and tells what is met and missed. A
# part that misses a goal exits 1; make bench runs the others all the same.

benches :=
bench-src :=
bench = $(test-env) TW_BENCH=$(abspath $(O)) $(guard) $(PYTHON)
include $(sort $(wildcard tests/bench/*.mk))

all-objs += $(bench-src:%.c=$(O)/%.o)
bench-programs := $(bench-src:%.c=$(O)/%)
$(bench-programs): $(O)/%: $(O)/%.o $(O)/libtw.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(tw-cflags) $(CFLAGS) $(tw-ldflags) $(LDFLAGS) $^ $(all-libs) -lm -o $@

# One after the other, whatever -j says: they measure time.
bench: all $(bench-programs)
	@fail=0; for t in $(benches); do \
		$(MAKE) --no-print-directory -j1 $$t || fail=1; done; exit $$fail

.PHONY: bench $(benches)
