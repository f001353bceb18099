/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HASH_H
#define TW_HASH_H

/*
 * FNV-1a, 64 bits (G. Fowler, L. Noll, K.-P. Vo): short, good enough to tell things
 * apart, no proof against forgery.
 */

#include <stddef.h>
#include <stdint.h>

uint64_t tw_hash(const void *data, size_t len);

#endif /* TW_HASH_H */
