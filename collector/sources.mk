# SPDX-License-Identifier: Apache-2.0
collector-src += collector/usage.c
collector-src += collector/zone.c
