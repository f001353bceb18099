# SPDX-License-Identifier: Apache-2.0
benches += bench-online
bench-online: all
	@$(bench) tests/bench/bench_online.py

benches += bench-online-chaos
# make bench-online-chaos [MINUTES=10]
bench-online-chaos: all
	@$(bench) tests/bench/bench_online_chaos.py $(if $(MINUTES),--minutes $(MINUTES))
