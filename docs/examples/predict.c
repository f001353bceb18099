/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Watts of one row by a model: predict MODEL VALUE..., a value for each feature of the
 * model, in its order. Without values it says which these are.
 *
 *	cc predict.c $(pkg-config --cflags --libs tallywatt) -o predict
 */
#include <stdio.h>
#include <stdlib.h>
#include <tallywatt.h>

static void list_features(const struct tallywatt_model *m)
{
	for (size_t i = 0; i < tallywatt_feature_count(m); i++)
		printf("%s\n", tallywatt_feature(m, i));
}

static int predict(const struct tallywatt_model *m, const double *x)
{
	double watts[TALLYWATT_COMPONENTS_MAX];

	if (tallywatt_predict(m, x, 1, tallywatt_feature_count(m), watts) < 0)
		return -1;
	for (size_t i = 0; i < tallywatt_component_count(m); i++)
		printf("%s %.17g\n", tallywatt_component(m, i), watts[i]);
	return 0;
}

int main(int argc, char **argv)
{
	char why[TALLYWATT_ERROR_SIZE];
	struct tallywatt_model *m = NULL;
	double *x = NULL;
	int status = 1;

	m = tallywatt_open(argc > 1 ? argv[1] : NULL, why, sizeof(why));
	if (m == NULL) {
		fprintf(stderr, "predict: %s\n", why);
		goto out;
	}
	if (argc == 2) {
		list_features(m);
		status = 0;
		goto out;
	}
	if ((size_t)argc - 2 != tallywatt_feature_count(m)) {
		fprintf(stderr, "predict: '%s' takes %zu values\n", tallywatt_name(m),
			tallywatt_feature_count(m));
		goto out;
	}
	x = calloc((size_t)argc, sizeof(*x));
	if (x == NULL)
		goto out;
	for (int i = 2; i < argc; i++)
		x[i - 2] = strtod(argv[i], NULL);
	if (predict(m, x) == 0)
		status = 0;
out:
	free(x);
	tallywatt_close(m);
	return status;
}
