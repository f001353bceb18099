# SPDX-License-Identifier: Apache-2.0
benches += bench-fleet
bench-fleet:
	@$(bench) tests/bench/bench_fleet.py
