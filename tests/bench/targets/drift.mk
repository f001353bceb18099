# SPDX-License-Identifier: Apache-2.0
benches += bench-drift
bench-src += tests/bench/drift.c
bench-drift: all $(O)/tests/bench/drift
	@$(bench) tests/bench/bench_drift.py
