/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_RAPL_H
#define TW_COLLECTOR_RAPL_H

/*
 * The registers of RAPL by processor: which zones they count and in which unit. Sources:
 * Intel's Software Developer's Manual, volume 3B, 15.10 "Platform Specific Power
 * Management Support" and volume 4; AMD's Processor Programming Reference,
 * "Core::X86::Msr::RAPL_PWR_UNIT"; exceptions by model as in Linux 6.12,
 * drivers/powercap/intel_rapl_common.c.
 */

#include "collector/meters/zone.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_processor;

/* How many instances of a register exist. */
enum tw_rapl_scope {
	TW_RAPL_PACKAGE, /* one in each package, or die: see by_die */
	TW_RAPL_CORE,    /* one in each core */
	TW_RAPL_MACHINE, /* one for the machine, readable in each package */
};

struct tw_rapl_register {
	uint32_t at;
	enum tw_zone_kind kind;
	enum tw_rapl_scope scope;
};

/* The registers of one kind of processor. */
struct tw_rapl {
	uint32_t unit_at; /* address of the unit register */
	bool by_die;
	const struct tw_rapl_register *reg;
	size_t regs;
	/* Fixed units of dram and psys in nJ; 0: the unit register applies. */
	uint32_t dram_nj, psys_nj;
	bool in_uj; /* the unit register is 2^n uJ; else J / 2^n */
};

/* Fails with TW_UNSUPPORTED if the processor is unknown. */
int tw_rapl_find(const struct tw_processor *p, struct tw_rapl *out, struct tw_err *err);

/* True for AMD and for Hygon, which is register compatible. */
bool tw_rapl_is_amd(const struct tw_processor *p);

/* A count is count * mul / div uJ. */
struct tw_rapl_unit {
	uint64_t mul, div;
};

/* The unit of a kind; `unit` is the value of register unit_at. */
struct tw_rapl_unit tw_rapl_unit_of(const struct tw_rapl *r, enum tw_zone_kind kind,
				    uint64_t unit);

/* Energy in uJ of a register value. Counters have 32 bits; higher bits are ignored. */
uint64_t tw_rapl_uj(struct tw_rapl_unit u, uint64_t value);

/* The highest energy of a counter in uJ; it wraps to 0 after that. */
uint64_t tw_rapl_range_uj(struct tw_rapl_unit u);

#endif /* TW_COLLECTOR_RAPL_H */
