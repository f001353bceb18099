# SPDX-License-Identifier: Apache-2.0
# Not among the benches: they want Debian's munge, slurmctld, slurmd and slurm-client, and root.
bench-slurm: all
	@$(bench) tests/bench/bench_slurm.py
bench-slurm-jobs: all
	@$(bench) tests/bench/bench_slurm_jobs.py
