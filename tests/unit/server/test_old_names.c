/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/field/feature.h"
#include "server/old_names.h"
#include "tests/unit/fail_alloc.h"

#include <stdlib.h>
#include <string.h>

static unsigned bit_of(const char *name)
{
	const struct tw_feature_old *old = tw_feature_old_find(name);

	assert_non_null(old);
	return 1u << (old - tw_feature_old_at(0));
}

static unsigned replace(const char *metrics, const char *want)
{
	struct tw_strs m = { 0 };
	struct tw_err err = { 0 };
	struct tw_buf b = { 0 };
	unsigned replaced = 0;

	assert_int_equal(tw_strs_split(&m, metrics, &err), 0);
	assert_int_equal(tw_old_names_replace(&m, &replaced, &err), 0);
	for (size_t i = 0; i < m.count; i++)
		tw_buf_addf(&b, "%s%s", i > 0 ? "," : "", m.at[i]);
	assert_string_equal(b.data, want);
	tw_buf_clear(&b);
	tw_strs_clear(&m);
	return replaced;
}

static void old_names_of_the_same_unit_are_replaced_in_place(void **state)
{
	(void)state;
	/* As Kepler 0.5.3 asks. */
	assert_int_equal(replace("cache_miss,cpu_cycles,cpu_instr,cpu_time,irq_net_tx,"
				 "irq_net_rx,irq_block",
				 "cache_miss,cpu_cycles,cpu_instructions,cpu_time,"
				 "bpf_net_tx_irq,bpf_net_rx_irq,bpf_block_irq"),
			 bit_of("cpu_instr") | bit_of("irq_net_tx") |
				 bit_of("irq_net_rx") | bit_of("irq_block"));
	assert_int_equal(replace("block_irq,net_rx_irq,net_tx_irq",
				 "bpf_block_irq,bpf_net_rx_irq,bpf_net_tx_irq"),
			 bit_of("block_irq") | bit_of("net_rx_irq") |
				 bit_of("net_tx_irq"));
	/* As Kepler 0.5.4 to 0.7.2 asks in a virtual machine. */
	assert_int_equal(replace("bpf_cpu_time_us,bpf_net_tx_irq",
				 "bpf_cpu_time_ms,bpf_net_tx_irq"),
			 bit_of("bpf_cpu_time_us"));
}

static void others_stay_as_they_are(void **state)
{
	(void)state;
	assert_int_equal(replace("cgroupfs_cpu_usage_us,kubelet_memory_bytes",
				 "cgroupfs_cpu_usage_us,kubelet_memory_bytes"),
			 0);
	/* The feature itself is there. */
	assert_int_equal(replace("bpf_cpu_time_us,bpf_cpu_time_ms",
				 "bpf_cpu_time_us,bpf_cpu_time_ms"),
			 0);
	assert_int_equal(
		replace("cpu_instr,cpu_instructions", "cpu_instr,cpu_instructions"), 0);
	/* The first of two. */
	assert_int_equal(replace("irq_block,block_irq", "bpf_block_irq,block_irq"),
			 bit_of("irq_block"));
}

#define ALL(name, rest)                                                                  \
	"{\"All_Weights\":{\"Bias_Weight\":1.5,\"Numerical_Variables\":{" rest "\"" name \
	"\":{\"scale\":0.1,\"weight\":2}}}}"
#define OTHER "\"cpu_cycles\":{\"scale\":3},"

static void answers_have_the_clients_names(void **state)
{
	static const char *const cases[][2] = {
		/* Every generation's form. */
		{ "{\"package\":" ALL("cpu_instructions",
				      OTHER) ",\"model_name\":\"T_0\",\"mae\":1,"
					     "\"machine_spec\":{\"cores\":4}}",
		  "{\"package\":" ALL("cpu_instr",
				      OTHER) ",\"model_name\":\"T_0\",\"mae\":1,"
					     "\"machine_spec\":{\"cores\":4}}" },
		{ "{\"pkg\":" ALL("cpu_instructions", "") ",\"dram\":" ALL("cache_miss",
									   "") "}",
		  "{\"pkg\":" ALL("cpu_instr", "") ",\"dram\":" ALL("cache_miss",
								    "") "}" },
		{ ALL("cpu_instructions", OTHER), ALL("cpu_instr", OTHER) },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_buf b = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(tw_old_names_restore(cases[i][0], strlen(cases[i][0]),
						      bit_of("cpu_instr"), &b, &err),
				 0);
		assert_string_equal(b.data, cases[i][1]);
		tw_buf_clear(&b);
	}
}

static void every_failed_allocation_is_reported(void **state)
{
	static const char text[] = "{\"pkg\":" ALL("cpu_instructions", OTHER) "}";

	(void)state;
	for (int n = 1;; n++) {
		struct tw_strs m = { 0 };
		struct tw_err err = { 0 };
		struct tw_buf b = { 0 };
		unsigned replaced = 0;
		bool failed;
		int rc;

		assert_int_equal(tw_strs_split(&m, "cpu_instr", &err), 0);
		fail_alloc_at(n);
		rc = tw_old_names_replace(&m, &replaced, &err);
		if (rc == 0)
			rc = tw_old_names_restore(text, sizeof(text) - 1, replaced, &b,
						  &err);
		failed = fail_alloc_told(rc, &err);
		tw_buf_clear(&b);
		tw_strs_clear(&m);
		if (!failed)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_names_of_the_same_unit_are_replaced_in_place),
		cmocka_unit_test(others_stay_as_they_are),
		cmocka_unit_test(answers_have_the_clients_names),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
