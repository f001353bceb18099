/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/model.h"

#include <stdlib.h>

static void release_info(struct tw_model_info *i)
{
	tw_strs_clear(&i->features);
	json_decref(i->metadata);
	*i = (struct tw_model_info){ 0 };
}

void tw_model_release(struct tw_model *m)
{
	for (size_t i = 0; i < m->parts; i++) {
		tw_strs_clear(&m->part[i].features);
		free(m->part[i].feature_min);
		free(m->part[i].feature_max);
		free(m->part[i].text);
	}
	release_info(&m->info);
	*m = (struct tw_model){ 0 };
}
