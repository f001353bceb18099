# SPDX-License-Identifier: Apache-2.0
benches += bench-import
bench-src += tests/bench/left_out.c
bench-import: all $(O)/tests/bench/left_out
	@$(bench) tests/bench/bench_import.py
