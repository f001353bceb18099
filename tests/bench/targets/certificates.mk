# SPDX-License-Identifier: Apache-2.0
benches += bench-certificates
bench-certificates: all
	@$(bench) tests/bench/bench_certificates.py
