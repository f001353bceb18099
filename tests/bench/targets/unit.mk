# SPDX-License-Identifier: Apache-2.0
benches += bench-unit
benches-whole += bench-unit
bench-unit: all
	@$(bench) tests/bench/bench_unit.py
