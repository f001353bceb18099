# SPDX-License-Identifier: Apache-2.0
benches += bench-collector
bench-src += tests/bench/collector_load.c
all-objs += $(O)/tests/bench/pair.o
$(O)/tests/bench/collector_load: $(O)/tests/bench/pair.o
bench-collector: all $(O)/tests/bench/collector_load
ifeq ($(BPF),1)
bench-src += tests/bench/collector_ticks.c tests/bench/empty_switch.c
bpf-programs += tests/bench/empty_switch.bpf.c
$(O)/tests/bench/empty_switch.o: $(O)/gen/tests/bench/empty_switch.skel.h
bench-collector: $(O)/tests/bench/collector_ticks $(O)/tests/bench/empty_switch
endif
bench-collector:
	@$(bench) tests/bench/bench_collector.py
