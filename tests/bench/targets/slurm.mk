# SPDX-License-Identifier: Apache-2.0
benches += bench-slurm
bench-slurm: all
	@$(bench) tests/bench/bench_slurm.py
