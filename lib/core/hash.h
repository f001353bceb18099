/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HASH_H
#define TW_HASH_H

/*
 * FNV-1a, 64 bits (G. Fowler, L. Noll, K.-P. Vo). Tells different data apart. Does not
 * resist an attacker who chooses the data.
 */

#include <stddef.h>
#include <stdint.h>

/* The hash of no bytes: FNV's offset basis. */
#define TW_HASH_START UINT64_C(14695981039346656037)

/* The hash of the bytes hashed so far, followed by data[0..len). */
uint64_t tw_hash_add(uint64_t hash, const void *data, size_t len);

uint64_t tw_hash(const void *data, size_t len);

#endif /* TW_HASH_H */
