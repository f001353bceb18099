# SPDX-License-Identifier: Apache-2.0
benches += bench-vm
bench-vm: all
	@$(bench) tests/bench/bench_vm.py
