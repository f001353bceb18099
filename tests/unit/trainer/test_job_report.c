/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/service/job_record.h"

#include <stdlib.h>
#include <string.h>

#define MODEL "rapl-sysfs/AbsPower/BPFOnly/LinearRegressionTrainer_0/metadata.json"
#define OTHER "rapl-sysfs/DynPower/BPFOnly/LinearRegressionTrainer_0/metadata.json"

#define DETAILS "rapl-sysfs/AbsPower/BPFOnly/LinearRegressionTrainer_0/details.json"

/* details: of the first model, or NULL. */
static char *zip_of(const char *first, const char *details, const char *second,
		    size_t *len)
{
	struct tw_fileset files = { 0 };
	struct tw_err err = { 0 };
	char *zip = NULL;

	if (tw_fileset_add(&files, "metadata.json", "{\"name\":\"web\"}", 14, &err) < 0 ||
	    tw_fileset_add(&files, MODEL, first, strlen(first), &err) < 0 ||
	    (details != NULL &&
	     tw_fileset_add(&files, DETAILS, details, strlen(details), &err) < 0) ||
	    tw_fileset_add(&files, OTHER, second, strlen(second), &err) < 0 ||
	    tw_zip_write(&files, &zip, len, &err) < 0)
		fail_msg("%s", err.text);
	tw_fileset_clear(&files);
	return zip;
}

static void a_report_has_models_and_each_quality_once(void **state)
{
	static const char quality[] = "\"data_quality\":[{\"rows\":99}]}";
	struct tw_buf first = { 0 }, details = { 0 }, second = { 0 }, b = { 0 };
	struct tw_err err = { 0 };
	char *zip;
	size_t len;

	(void)state;
	tw_buf_addf(&first,
		    "{\"output_type\":\"AbsPower\",\"mae\":1.5,\"package_mae\":1.5,"
		    "\"package_interval_factor\":2,\"certificate_rises\":true}");
	tw_buf_addf(&details, "{%s", quality);
	/* Older models have the quality in metadata.json. */
	tw_buf_addf(&second, "{\"output_type\":\"DynPower\",\"mae\":2,%s", quality);
	zip = zip_of(first.data, details.data, second.data, &len);
	if (tw_job_report_write(zip, len, &b, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(b.data,
			    "{\"models\":[{\"output_type\":\"AbsPower\",\"mae\":1.5,"
			    "\"package_mae\":1.5,\"certificate_rises\":true},"
			    "{\"output_type\":\"DynPower\",\"mae\":2}],"
			    "\"data_quality\":[{\"rows\":99}]}");
	free(zip);
	tw_buf_clear(&b);
	tw_buf_clear(&first);
	tw_buf_clear(&details);
	tw_buf_clear(&second);
}

static void broken_metadata_is_named(void **state)
{
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };
	size_t len;
	char *zip = zip_of("{", NULL, "{}", &len);

	(void)state;
	assert_int_equal(tw_job_report_write(zip, len, &b, &err), -1);
	assert_int_equal(err.code, TW_PARSE);
	assert_non_null(strstr(err.text, MODEL));
	memset(&err, 0, sizeof(err));
	assert_int_equal(tw_job_report_write(zip, len / 2, &b, &err), -1);
	assert_int_equal(b.len, 0);
	free(zip);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_has_models_and_each_quality_once),
		cmocka_unit_test(broken_metadata_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
