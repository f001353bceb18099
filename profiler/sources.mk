# SPDX-License-Identifier: Apache-2.0
profiler-src += profiler/spec.c
