/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_RAPL_H
#define TW_COLLECTOR_RAPL_H

/*
 * The registers of RAPL, by processor: where energy is counted, of what, and in which
 * unit. Sources: Intel's Software Developer's Manual, volume 3B, 15.10 "Platform Specific
 * Power Management Support" and volume 4; AMD's Processor Programming Reference,
 * "Core::X86
 * ::Msr::RAPL_PWR_UNIT"; what differs by model is as drivers/powercap/intel_rapl_common.c
 * of Linux 6.12 has it.
 */

#include "collector/meters/zone.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_processor;

/* How many of a register there are. */
enum tw_rapl_scope {
	TW_RAPL_PACKAGE, /* one a package, or a die: see by_die */
	TW_RAPL_CORE,    /* one a core */
	TW_RAPL_MACHINE, /* the same in each package */
};

struct tw_rapl_register {
	uint32_t at;
	enum tw_zone_kind kind;
	enum tw_rapl_scope scope;
};

/* Of a kind of processor. */
struct tw_rapl {
	uint32_t unit_at; /* the register that has the unit */
	bool by_die;
	const struct tw_rapl_register *reg;
	size_t regs;
	/* Where a model has its own: of dram and psys, in nJ; 0: the unit is told. */
	uint32_t dram_nj, psys_nj;
	bool in_uj; /* the unit that is told is 2^n uJ; else J / 2^n */
};

/* Fails if none are known of it. */
int tw_rapl_find(const struct tw_processor *p, struct tw_rapl *out, struct tw_err *err);

/* Whether it is AMD's, or Hygon's, which are the same. */
bool tw_rapl_is_amd(const struct tw_processor *p);

/* A count is count * mul / div uJ. */
struct tw_rapl_unit {
	uint64_t mul, div;
};

/* Of a kind, by what the register unit_at holds. */
struct tw_rapl_unit tw_rapl_unit_of(const struct tw_rapl *r, enum tw_zone_kind kind,
				    uint64_t unit);

/* Counters are 32 bits wide; what is above them in a register is not theirs. */
uint64_t tw_rapl_uj(struct tw_rapl_unit u, uint64_t value);

/* The largest there is, after which comes 0. */
uint64_t tw_rapl_range_uj(struct tw_rapl_unit u);

#endif /* TW_COLLECTOR_RAPL_H */
