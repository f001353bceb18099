# SPDX-License-Identifier: Apache-2.0
benches += bench-extract
bench-src += tests/bench/make_response.c
bench-extract: all $(O)/tests/bench/make_response
	@$(bench) tests/bench/bench_extract.py
