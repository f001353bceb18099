# SPDX-License-Identifier: Apache-2.0
bpf-programs := bpf/counters.bpf.c bpf/exits.bpf.c bpf/iter.bpf.c
bpf-programs += bpf/traces.bpf.c bpf/walk.bpf.c
