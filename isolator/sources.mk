# SPDX-License-Identifier: Apache-2.0
isolator-src += isolator/aggregate.c
isolator-src += isolator/isolate_min_idle.c
isolator-src += isolator/isolate_none.c
isolator-src += isolator/registry.c
