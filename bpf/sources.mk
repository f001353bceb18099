# SPDX-License-Identifier: Apache-2.0
bpf-programs := $(sort $(wildcard bpf/*.bpf.c))
