/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SPOOL_STORE_H
#define TW_TRAINER_SPOOL_STORE_H

/*
 * What a spool is made of: between trainer/extract/spool.c and
 * trainer/extract/spool_write.c.
 */

#include "lib/core/intern.h"
#include "trainer/extract/spool.h"

#define TW_SPOOL_BLOCK_SAMPLES 63

/* As it is in the file: 1 KiB. */
struct tw_spool_block {
	uint64_t next; /* place of the series' next block, whether it is written or not */
	uint32_t count;
	uint32_t reserved;
	int64_t time_ms[TW_SPOOL_BLOCK_SAMPLES];
	double value[TW_SPOOL_BLOCK_SAMPLES];
};
_Static_assert(sizeof(struct tw_spool_block) == 1024, "a block is 1 KiB");

struct tw_spool_series {
	const char *metric; /* interned: equal names have equal addresses */
	const char *labels; /* "{"a":"b"}", the same */
	int64_t last_ms;
	uint64_t samples;
	uint64_t first;              /* place of the first block */
	uint64_t place;              /* of the block that is to be written next */
	struct tw_spool_block *held; /* what it will have; NULL: nothing yet */
	bool grew;                   /* since the last tw_spool_settle() */
};

struct tw_spool {
	int fd;
	uint64_t end; /* of the places that are taken */
	struct tw_intern texts;
	size_t text_bytes;
	struct tw_spool_series *series;
	size_t count, size;
	/* Number of a series + 1 by the addresses of its texts; 0: free. */
	uint32_t *index;
	size_t index_size; /* a power of two, or 0 */
};

#endif /* TW_TRAINER_SPOOL_STORE_H */
