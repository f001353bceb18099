# SPDX-License-Identifier: Apache-2.0
benches += bench-online
bench-online: all
	@$(bench) tests/bench/bench_online.py
