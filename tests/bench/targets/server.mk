# SPDX-License-Identifier: Apache-2.0
benches += bench-server
bench-src += tests/bench/choose.c tests/bench/make_database.c \
	tests/bench/plain_server.c
bench-server: all $(O)/tests/bench/choose $(O)/tests/bench/make_database \
	$(O)/tests/bench/plain_server
	@$(bench) tests/bench/bench_server.py
