# SPDX-License-Identifier: Apache-2.0
benches += bench-collector
bench-src += tests/bench/collector_load.c
all-objs += $(O)/tests/bench/pair.o
$(O)/tests/bench/collector_load: $(O)/tests/bench/pair.o
bench-collector: all $(O)/tests/bench/collector_load
ifeq ($(BPF),1)
bench-src += tests/bench/collector_ticks.c tests/bench/attach_programs.c
bpf-programs += tests/bench/empty.bpf.c
$(O)/tests/bench/attach_programs.o: $(O)/gen/tests/bench/empty.skel.h $(O)/gen/bpf/exits.skel.h
bench-collector: $(O)/tests/bench/collector_ticks $(O)/tests/bench/attach_programs
endif
bench-collector:
	@$(bench) tests/bench/bench_collector.py
