# SPDX-License-Identifier: Apache-2.0
benches += bench-online
bench-online: all
	@$(bench) tests/bench/bench_online.py

benches += bench-online-chaos
bench-online-chaos: all
	@$(bench) tests/bench/bench_online_chaos.py
