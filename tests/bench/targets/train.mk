# SPDX-License-Identifier: Apache-2.0
benches += bench-train
bench-train: all
	@$(bench) tests/bench/bench_train.py
