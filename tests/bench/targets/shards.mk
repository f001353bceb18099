# SPDX-License-Identifier: Apache-2.0
# Not among the benches: it wants Debian's munge, slurmctld, slurmd and slurm-client, and root.
bench-shards: all
	@$(bench) tests/bench/bench_shards.py
