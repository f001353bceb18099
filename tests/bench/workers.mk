# SPDX-License-Identifier: Apache-2.0
# Not among the benches: its data fills 2 GiB of TMPDIR.
# make bench-workers [MIB=2048] [WORKERS=3,8] [KILLS=10] [SEED=1]
bench-workers: all
	@$(bench) tests/bench/bench_workers.py
