/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/base64.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "server/uploads.h"
#include "tests/unit/scratch.h"

#include <stdlib.h>
#include <string.h>

static struct tw_uploads *open_with(const char *auth)
{
	const struct tw_strs keys = { 0 };
	struct tw_uploads_config c = { .model_db = "/none", .keys = &keys };
	char *dir = scratch_new(), *path = NULL;
	struct tw_uploads *u = NULL;
	struct tw_err err = { 0 };

	if (auth != NULL) {
		assert_int_equal(tw_path_join(&path, &err, dir, "auth", NULL), 0);
		assert_int_equal(tw_file_create(path, auth, strlen(auth), &err), 0);
		c.auth_file = path;
	}
	if (tw_uploads_new(&c, &u, &err) < 0)
		fail_msg("%s", err.text);
	free(path);
	scratch_free(dir);
	return u;
}

/* Whether "<scheme> <secret>", in base64 for Basic, may publish. */
static int allows(const struct tw_uploads *u, const char *scheme, const char *secret)
{
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };
	int rc;

	tw_buf_adds(&b, scheme);
	if (strcmp(scheme, "Basic ") == 0)
		tw_buf_add_base64(&b, secret, strlen(secret));
	else
		tw_buf_adds(&b, secret);
	rc = tw_uploads_allow(u, b.data, &err);
	assert_int_equal(err.code, rc < 0 ? TW_DENIED : TW_OK);
	tw_buf_clear(&b);
	return rc;
}

static void only_the_whole_secret_of_its_scheme_opens(void **state)
{
	struct tw_uploads *u = open_with("# who\n\ns3cret\r\nbob:builder\nother\n");
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(allows(u, "Bearer ", "s3cret"), 0);
	assert_int_equal(allows(u, "bearer ", "other"), 0);
	assert_int_equal(allows(u, "Basic ", "bob:builder"), 0);
	/* Texts of the same length. */
	assert_int_equal(allows(u, "Bearer ", "s3creT"), -1);
	assert_int_equal(allows(u, "Bearer ", "S3cret"), -1);
	assert_int_equal(allows(u, "Basic ", "bob:builded"), -1);
	assert_int_equal(allows(u, "Basic ", "rob:builder"), -1);
	/* Shorter and longer. */
	assert_int_equal(allows(u, "Bearer ", "s3cre"), -1);
	assert_int_equal(allows(u, "Bearer ", "s3crets"), -1);
	assert_int_equal(allows(u, "Bearer ", "s3crets3cret"), -1);
	assert_int_equal(allows(u, "Bearer ", ""), -1);
	assert_int_equal(allows(u, "Basic ", ""), -1);
	assert_int_equal(allows(u, "Bearer ", "# who"), -1);
	/* The other scheme. */
	assert_int_equal(allows(u, "Bearer ", "bob:builder"), -1);
	assert_int_equal(allows(u, "Basic ", "s3cret"), -1);
	assert_int_equal(allows(u, "", "s3cret"), -1);
	assert_int_equal(allows(u, "Digest ", "s3cret"), -1);
	assert_int_equal(tw_uploads_allow(u, "Basic ????", &err), -1);
	/* "bob:builder" in a third scheme. */
	assert_int_equal(tw_uploads_allow(u, "Token Ym9iOmJ1aWxkZXI=", &err), -1);
	assert_int_equal(tw_uploads_allow(u, "Basic Ym9iOmJ1aWxkZXI=", &err), 0);
	assert_int_equal(tw_uploads_allow(u, NULL, &err), -1);
	tw_uploads_free(u);
}

static void without_a_file_nobody_may_publish(void **state)
{
	struct tw_uploads *u = open_with(NULL);
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(allows(u, "Bearer ", ""), -1);
	assert_int_equal(tw_uploads_allow(u, NULL, &err), -1);
	assert_string_equal(err.text, "publishing is off: see --publish-auth");
	assert_int_equal(tw_uploads_admit(u, "/none", "p", &err), 0);
	tw_uploads_free(u);
}

static void a_file_without_secrets_is_refused(void **state)
{
	const struct tw_strs keys = { 0 };
	struct tw_uploads_config c = { .model_db = "/none", .keys = &keys };
	char *dir = scratch_new(), *path = NULL;
	struct tw_uploads *u = NULL;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_path_join(&path, &err, dir, "auth", NULL), 0);
	assert_int_equal(tw_file_create(path, "# nobody\n\n", 10, &err), 0);
	c.auth_file = path;
	assert_int_equal(tw_uploads_new(&c, &u, &err), -1);
	assert_non_null(strstr(err.text, "no token and no user:password"));
	c.auth_file = NULL;
	c.require_signature = true;
	err = (struct tw_err){ 0 };
	assert_int_equal(tw_uploads_new(&c, &u, &err), -1);
	assert_string_equal(err.text, "--require-signature without a --public-key");
	free(path);
	scratch_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_whole_secret_of_its_scheme_opens),
		cmocka_unit_test(without_a_file_nobody_may_publish),
		cmocka_unit_test(a_file_without_secrets_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
