# SPDX-License-Identifier: Apache-2.0
benches += bench-attribution
bench-src += tests/bench/attribution.c
all-objs += $(O)/tests/bench/hidden_law.o
$(O)/tests/bench/attribution: $(O)/tests/bench/hidden_law.o
bench-attribution: all $(O)/tests/bench/attribution
	@KEPLER=$(if $(KEPLER),$(abspath $(KEPLER))) $(bench) tests/bench/bench_attribution.py
