# SPDX-License-Identifier: Apache-2.0
benches += bench-machines
bench-src += tests/bench/machines.c model-db/learning/machine_facts.c
machine-benches := $(O)/tests/bench/machines
ifeq ($(XGBOOST),1)
bench-src += tests/bench/machines_boosted.c
machine-benches += $(O)/tests/bench/machines_boosted
endif
all-objs += $(O)/tests/bench/machine_figures.o
$(machine-benches): $(O)/tests/bench/machine_figures.o
bench-machines: all $(machine-benches) $(O)/model-db/learning/machine_facts
	@$(bench) tests/bench/bench_machines.py
