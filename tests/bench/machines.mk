# SPDX-License-Identifier: Apache-2.0
benches += bench-machines
bench-src += tests/bench/machines.c
bench-machines: all $(O)/tests/bench/machines
	@$(bench) tests/bench/bench_machines.py
