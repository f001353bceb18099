/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_MSR_FIXTURE_H
#define TW_TEST_MSR_FIXTURE_H

/* Registers of RAPL over a tree of a test: recorded ones in files, and scripted ones. */

#include "tests/unit/meters/meter_fixture.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of energy: J / 2^14, as nearly all have it. */
#define MSR_UNIT 0xa0e03

/* For cmocka: nothing is scripted yet. *state is a struct meter_fixture. */
int msr_setup(void **state);
#define MSR_TEST(name) cmocka_unit_test_setup_teardown(name, msr_setup, meters_teardown)

/* Who makes the processor, and which it is. */
void msr_model(const struct meter_fixture *f, const char *vendor, int family, int model);

/* Where a CPU is. */
void msr_cpu(const struct meter_fixture *f, unsigned cpu, int package, int die, int core);

/* The file is made, and kept as it is but for this register. */
void msr_register(const struct meter_fixture *f, unsigned cpu, uint32_t at,
		  uint64_t value);

/* Intel's, with all that a client has. */
void msr_client(const struct meter_fixture *f, unsigned cpu, uint64_t count);

/*
 * A register that is not in a file: AMD's have numbers so near each other that those of
 * eight bytes overlap in one. A read fails with errnum unless that is 0. Again: it has
 * another value.
 */
void msr_script(unsigned cpu, uint32_t at, uint64_t value, int errnum);

/* All are in files again. */
void msr_unscript(void);

/* For the __wrap_pread() of a test: what is scripted, or else what real() reads. */
ssize_t msr_pread(int fd, void *buf, size_t len, off_t at,
		  ssize_t (*real)(int fd, void *buf, size_t len, off_t at));

#endif /* TW_TEST_MSR_FIXTURE_H */
