/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_COVER_H
#define TW_COLLECTOR_COVER_H

/*
 * A guest's energy that its host has counted already: that of its virtual machine there,
 * and no more. So an agent that is taken for a guest, or says that it is one, hides no
 * more than its host's machine uses.
 */

#include "collector/agents/sums.h"

/* All zero bytes: nothing is covered yet. */
struct tw_cover {
	int like;             /* above 0: the guest shows the power of its whole host */
	uint64_t compared_ns; /* when the answer that was compared last was taken */
	uint64_t since_ns;    /* some energy is not covered; 0: none */
	uint64_t taken_uj[TW_ZONE_KIND_COUNT];  /* of the machine's energy, so far */
	uint64_t beyond_uj[TW_ZONE_KIND_COUNT]; /* energy of the guest that was not
						   covered */
};

/*
 * Take off part[0..count) what the energy of vm covers, kind by kind. A kind that vm
 * lacks is covered by the same share as those that it has; if it has none of them, by its
 * largest.
 */
void tw_cover_take(struct tw_cover *c, const struct tw_sum *vm, struct tw_sum_part *part,
		   size_t count);

/*
 * Compare the watts of guest[0..guests) with those of the whole host, of one answer each.
 * A guest that reads its host's meter has the same in all kinds that both have, within
 * 15 %, in most answers.
 */
void tw_cover_compare(struct tw_cover *c, const struct tw_sum_part *guest, size_t guests,
		      const struct tw_sum_part *host, size_t hosts);

/*
 * Whether what is left of the parts waits for the host's next answers: since wait_ns at
 * most. Else it is beyond the cover, and counted so.
 */
bool tw_cover_waits(struct tw_cover *c, const struct tw_sum_part *part, size_t count,
		    uint64_t now_ns, uint64_t wait_ns);

/* As tw_cover_take(), for watts: the watts of `vm` replace those of its parts. */
void tw_cover_take_watts(const struct tw_sum *vm, struct tw_sum_part *part, size_t count);

#endif /* TW_COLLECTOR_COVER_H */
