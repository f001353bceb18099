# SPDX-License-Identifier: Apache-2.0
benches += bench-machines
bench-src += tests/bench/machines.c model-db/learning/machine_facts.c
all-objs += $(O)/tests/bench/machine_figures.o
$(O)/tests/bench/machines: $(O)/tests/bench/machine_figures.o
bench-machines: all $(O)/tests/bench/machines $(O)/model-db/learning/machine_facts
	@$(bench) tests/bench/bench_machines.py
