# SPDX-License-Identifier: Apache-2.0
benches += bench-regret
bench-regret: all
	@$(bench) tests/bench/bench_regret.py $(SETS)
