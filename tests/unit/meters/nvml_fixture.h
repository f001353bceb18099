/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_NVML_FIXTURE_H
#define TW_TEST_NVML_FIXTURE_H

/* GPUs of a library that looks like NVIDIA's (tests/fake/nvml.c): its path is f->nvml. */

#include "tests/unit/meters/meter_fixture.h"

int nvml_setup(void **state);
#define NVML_TEST(name) cmocka_unit_test_setup_teardown(name, nvml_setup, meters_teardown)

/* The lines that the library reads, as at the top of tests/fake/nvml.c. */
void tell(const struct meter_fixture *f, const char *text);

/* Between two looks: the counters of GPM have no new values for some time. */
void wait_for_gpm(void);

#endif /* TW_TEST_NVML_FIXTURE_H */
