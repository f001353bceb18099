# SPDX-License-Identifier: Apache-2.0
bpf-programs := bpf/exits.bpf.c bpf/iter.bpf.c bpf/walk.bpf.c
