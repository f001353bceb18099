/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/train/train_publish.h"

#include "cli/train/train_flags.h"
#include "lib/core/file.h"
#include "lib/zip/zip.h"
#include "model-db/publish.h"
#include "trainer/train_result.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static int publish(const struct tw_train_flags *f, const struct tw_signer *signer,
		   struct tw_train_result *r, struct tw_err *err)
{
	const struct tw_publish_terms terms = { .signer = signer };

	if (f->model_db == NULL)
		return 0;
	return f->replace ? tw_pipeline_publish_with(f->model_db, f->name, &r->pipeline,
						     &terms, err)
			  : tw_pipeline_update(f->model_db, f->name, &r->pipeline, signer,
					       err);
}

int tw_train_publish(const struct tw_train_flags *f, const char *program,
		     const struct tw_signer *signer, struct tw_train_result *r,
		     struct tw_err *err)
{
	const char *output = f->output;
	char here[NAME_MAX], *zip = NULL;
	size_t len;
	int rc = -1;

	if (f->model_db == NULL && output == NULL) {
		snprintf(here, sizeof(here), "%.200s.zip", f->name);
		output = here;
		fprintf(stderr,
			"%s: without --model-db and --output, the pipeline is kept in "
			"./%s alone\n",
			program, here);
	}
	if (publish(f, signer, r, err) < 0)
		goto out;
	if (output != NULL && (tw_zip_write(&r->pipeline, &zip, &len, err) < 0 ||
			       tw_file_replace(output, zip, len, err) < 0))
		goto out;
	rc = 0;
out:
	free(zip);
	return rc;
}
