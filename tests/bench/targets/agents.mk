# SPDX-License-Identifier: Apache-2.0
benches += bench-agents
bench-agents: all
	@$(bench) tests/bench/bench_agents.py
