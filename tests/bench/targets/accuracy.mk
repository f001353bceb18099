# SPDX-License-Identifier: Apache-2.0
benches += bench-accuracy
bench-src += tests/bench/accuracy.c
bench-accuracy: all $(O)/tests/bench/accuracy
	@$(bench) tests/bench/bench_accuracy.py
