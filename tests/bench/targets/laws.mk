# SPDX-License-Identifier: Apache-2.0
benches += bench-laws
bench-laws: all
	@$(bench) tests/bench/bench_laws.py $(LAWS)
