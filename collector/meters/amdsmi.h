/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_AMDSMI_H
#define TW_COLLECTOR_AMDSMI_H

/*
 * AMD's System Management Interface library, a part of ROCm, loaded at run time
 * (library.h). Declarations follow the reference of "AMD SMI C/C++ API". Some of its
 * structs changed between versions; of those only the members are read whose place is
 * known for the version that is loaded.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* A physical card; a card, or one of the partitions of a card. */
typedef struct tw_amdsmi_socket *tw_amdsmi_socket;
typedef struct tw_amdsmi_processor *tw_amdsmi_processor;

/* amdsmi_status_t */
enum {
	TW_AMDSMI_OK = 0,
	TW_AMDSMI_NOT_SUPPORTED = 2,
	TW_AMDSMI_NO_PERMISSION = 10,
	TW_AMDSMI_MEMORY = 15,
	TW_AMDSMI_NOT_FOUND = 31,
	TW_AMDSMI_DRIVER_NOT_LOADED = 34,
	TW_AMDSMI_NO_DATA = 40,
};

#define TW_AMDSMI_GPUS (1U << 1) /* AMDSMI_INIT_AMD_GPUS */

/* processor_type_t */
enum { TW_AMDSMI_GPU = 1, TW_AMDSMI_APU = 6 };

/* amdsmi_engine_usage_t: percent. */
struct tw_amdsmi_usage {
	uint32_t shaders, memory, media;
	uint32_t reserved[13];
};

/* Bits of amdsmi_bdf_t, from the lowest on. */
#define TW_AMDSMI_FUNCTION(bdf) ((unsigned)((bdf)&0x7))
#define TW_AMDSMI_DEVICE(bdf) ((unsigned)((bdf) >> 3 & 0x1f))
#define TW_AMDSMI_BUS(bdf) ((unsigned)((bdf) >> 8 & 0xff))
#define TW_AMDSMI_DOMAIN(bdf) ((unsigned)((bdf) >> 16 & 0xffff))

/* Structs whose size differs: room for any version's. */
#define TW_AMDSMI_ROOM 4096

/* Optional functions are NULL if the library is too old. */
struct tw_amdsmi {
	void *library;
	uint32_t version; /* 24: ROCm 6.3 or earlier; 25, 26 and later */
	unsigned (*init)(uint64_t flags);
	unsigned (*shutdown)(void);
	unsigned (*error_text)(unsigned code, const char **out);
	unsigned (*version_of)(void *out); /* begins with the version */
	/* *count is the room in out; out NULL: the number. */
	unsigned (*sockets)(uint32_t *count, tw_amdsmi_socket *out);
	unsigned (*processors)(tw_amdsmi_socket s, uint32_t *count,
			       tw_amdsmi_processor *out);
	unsigned (*type)(tw_amdsmi_processor p, unsigned *out);
	unsigned (*bdf)(tw_amdsmi_processor p, uint64_t *out);
	unsigned (*uuid)(tw_amdsmi_processor p, unsigned *size, char *out);
	unsigned (*asic)(tw_amdsmi_processor p, void *out); /* begins with its name */
	/* A counter in units of uJ; the time in ns. */
	unsigned (*energy)(tw_amdsmi_processor p, uint64_t *count, float *unit_uj,
			   uint64_t *time_ns);
	unsigned (*power)(tw_amdsmi_processor p, void *out); /* see tw_amdsmi_power() */
	unsigned (*usage)(tw_amdsmi_processor p, struct tw_amdsmi_usage *out);
};

/*
 * Load the library and initialise it for GPUs. file NULL: where ROCm or a distribution
 * has it. It opens devices, so call it before rights are dropped. *out is yours.
 */
int tw_amdsmi_open(const char *file, struct tw_amdsmi **out, struct tw_err *err);
void tw_amdsmi_close(struct tw_amdsmi *a); /* NULL is fine */

/* The energy counter. Returns the library's code; TW_AMDSMI_NO_DATA: there is none. */
unsigned tw_amdsmi_energy(const struct tw_amdsmi *a, tw_amdsmi_processor p,
			  uint64_t *energy_uj);

/* The power of the card. Returns the library's code; TW_AMDSMI_NO_DATA: none. */
unsigned tw_amdsmi_power(const struct tw_amdsmi *a, tw_amdsmi_processor p,
			 double *power_w);

/* The name that the card is sold by; "": unknown. */
void tw_amdsmi_name(const struct tw_amdsmi *a, tw_amdsmi_processor p, char *out,
		    size_t size);

/* tw_fail() with the text of a returned code; `what` says what was read. */
int tw_amdsmi_fail(const struct tw_amdsmi *a, unsigned code, const char *what,
		   struct tw_err *err);

#endif /* TW_COLLECTOR_AMDSMI_H */
