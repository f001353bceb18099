/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "collector/workloads/identity.h"
#include "lib/core/err.h"
#include "lib/core/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define CASES "tests/cases/identity/"
#define FILE_MAX 65536

static const char *or_dash(const char *text)
{
	return text != NULL && text[0] != '\0' ? text : "-";
}

/* Without a trailing NUL, so that a sanitizer finds reads past the end. */
static char *copy_of(const char *text, size_t len)
{
	char *copy = malloc(len + 1);

	assert_non_null(copy);
	copy = realloc(copy, len > 0 ? len : 1);
	memcpy(copy, text, len);
	return copy;
}

/* Call a function for each line but comments; returns their number. */
static size_t for_each_case(const char *path, void (*check)(char *line))
{
	struct tw_err err = { 0 };
	char *text, *save = NULL;
	size_t len, count = 0;

	if (tw_file_read(path, FILE_MAX, &text, &len, &err) < 0)
		fail_msg("%s", err.text);
	for (char *line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save))
		if (line[0] != '#') {
			check(line);
			count++;
		}
	free(text);
	return count;
}

static void check_path(char *line)
{
	static const char *const kinds[] = { "none", "container", "vm" };
	char *space = strchr(line, ' '), *path;
	struct tw_identity who;
	char got[1024];

	assert_non_null(space);
	path = copy_of(line, (size_t)(space - line));
	tw_identity_of_path(path, (size_t)(space - line), &who);
	free(path);
	snprintf(got, sizeof(got), "%s %s %s %s %s %s", kinds[who.kind],
		 or_dash(who.runtime), or_dash(who.id), or_dash(who.name),
		 or_dash(who.pod_uid), or_dash(who.unit));
	if (strcmp(got, space + 1) != 0)
		fail_msg("%.*s:\n got %s\nwant %s", (int)(space - line), line, got,
			 space + 1);
	assert_int_equal(who.kind == TW_OWNER_NONE, who.owner_len == 0);
}

static void a_path_gives_the_owner(void **state)
{
	(void)state;
	assert_true(for_each_case(CASES "paths", check_path) > 50);
}

static void check_command(char *line)
{
	char *tab = strchr(line, '\t'), *args, got[1024] = "no";
	struct tw_identity who;
	const size_t len = (size_t)(tab - line);

	assert_non_null(tab);
	args = copy_of(line, len);
	for (size_t i = 0; i < len; i++)
		if (args[i] == '|')
			args[i] = '\0';
	if (tw_identity_of_command(args, len, &who)) {
		assert_int_equal(who.kind, TW_OWNER_VM);
		snprintf(got, sizeof(got), "%s\t%s\t%s", or_dash(who.runtime),
			 or_dash(who.id), or_dash(who.name));
	}
	free(args);
	if (strcmp(got, tab + 1) != 0)
		fail_msg("%.*s:\n got %s\nwant %s", (int)len, line, got, tab + 1);
}

static void a_command_line_gives_the_virtual_machine(void **state)
{
	(void)state;
	assert_true(for_each_case(CASES "commands", check_command) > 15);
}

static void owner_len_ends_at_the_owners_element(void **state)
{
	static const char path[] = "/lxc.payload.web/system.slice/ssh.service";
	struct tw_identity who;

	(void)state;
	tw_identity_of_path(path, strlen(path), &who);
	assert_int_equal(who.owner_len, strlen("/lxc.payload.web"));
	tw_identity_of_path("/a", 2, &who);
	assert_int_equal(who.owner_len, 0);
}

static void a_path_gives_the_job_and_step_of_slurm(void **state)
{
	static const struct {
		const char *path, *job, *step, *user;
	} cases[] = {
		{ "/slurm/uid_1000/job_12/step_0/task_3", "12", "12.0", "1000" },
		{ "/slurm_n1/uid_0/job_7/step_batch", "7", "7.batch", "0" },
		{ "/slurm/uid_1000/job_12", "12", "", "1000" },
		{ "/system.slice/slurmstepd.scope/job_4294967294/step_extern/user/task_0",
		  "4294967294", "4294967294.extern", "" },
		{ "/system.slice/n2_slurmstepd.scope/job_5/step_interactive/slurm", "5",
		  "5.interactive", "" },
		{ "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_0",
		  "s5K1KKYAYG5D00", "s5K1KKYAYG5D00.0", "" },
		{ "/system.slice/slurmstepd.scope/s5k1KKYAYG5D00/step_0", "", "", "" },
		/* 12 and 14 digits, and a minus sign. */
		{ "/system.slice/slurmstepd.scope/s5K1KKYAYG5D0/step_0", "", "", "" },
		{ "/system.slice/slurmstepd.scope/s5K1KKYAYG5D000/step_0", "", "", "" },
		{ "/system.slice/slurmstepd.scope/s-K1KKYAYG5D00/step_0", "", "", "" },
		{ "/system.slice/slurmstepd.scope/t5K1KKYAYG5D00/step_0", "", "", "" },
		{ "/system.slice/slurmstepd.scope/system", "", "", "" },
		/* As long as a step may be, and one more; as a number may be, and one
		 * more.
		 */
		{ "/slurm/job_123456789012345/step_abcdefghijklmnopqrstuvw",
		  "123456789012345", "123456789012345.abcdefghijklmnopqrstuvw", "" },
		{ "/slurm/job_123456789012345/step_abcdefghijklmnopqrstuvwx",
		  "123456789012345", "", "" },
		{ "/slurm/uid_12x/job_3/step_0_1", "3", "", "" },
		{ "/slurm/uid_1/x/job_3/steps_0", "3", "", "" },
		{ "/slurm/s5K1KKYAYG5D00/step_0", "", "", "" },
		{ "/slurm/uid_1/job_8/step_0/libpod-" HEX "/job_9", "9", "", "" },
		{ "/system.slice/job_12/step_0", "", "", "" },
		{ "/job_12/slurm", "", "", "" },
		{ "/slurm/job_", "", "", "" },
		{ "/slurm/job_1x/step_0", "", "", "" },
		{ "/slurm/job_1234567890123456/step_0", "", "", "" },
		{ "/slurm/uid_x/job_1/step_", "1", "", "" },
		{ "/slurm/job_1/step_a-b", "1", "", "" },
		{ "/slurm/job_1/step_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "1", "",
		  "" },
	};
	struct tw_identity who;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		tw_identity_of_path(cases[i].path, strlen(cases[i].path), &who);
		assert_string_equal(who.job, cases[i].job);
		assert_string_equal(who.step, cases[i].step);
		assert_string_equal(who.user, cases[i].user);
	}
}

static void texts_too_long_or_not_printable_are_ignored(void **state)
{
	struct tw_identity who;
	char path[600];

	(void)state;
	memset(path, 'a', sizeof(path));
	memcpy(path, "/lxc/", 5);
	tw_identity_of_path(path, sizeof(path), &who);
	assert_int_equal(who.kind, TW_OWNER_NONE);
	assert_string_equal(who.id, "");
	tw_identity_of_path("/lxc/a\nb", 8, &who);
	assert_int_equal(who.kind, TW_OWNER_NONE);
	assert_true(tw_identity_of_command("kvm\0-name\0a\033b", 14, &who));
	assert_string_equal(who.name, "");
}

/* A text of n letters behind a prefix, in front of a suffix. */
static char *long_text(const char *prefix, size_t n, const char *suffix)
{
	char *text = malloc(strlen(prefix) + n + strlen(suffix) + 1);

	assert_non_null(text);
	memset(stpcpy(text, prefix), 'a', n);
	strcpy(text + strlen(prefix) + n, suffix);
	return text;
}

static struct tw_identity of_long_path(const char *prefix, size_t n, const char *suffix)
{
	char *path = long_text(prefix, n, suffix);
	struct tw_identity who;

	tw_identity_of_path(path, strlen(path), &who);
	free(path);
	return who;
}

static void texts_are_whole_or_not_there(void **state)
{
	struct tw_identity who;

	(void)state;
	who = of_long_path("/lxc/", TW_ID_TEXT - 1, "");
	assert_int_equal(strlen(who.id), TW_ID_TEXT - 1);
	assert_int_equal(of_long_path("/lxc/", TW_ID_TEXT, "").kind, TW_OWNER_NONE);
	who = of_long_path("/", TW_NAME_TEXT - 9, ".service");
	assert_int_equal(strlen(who.unit), TW_NAME_TEXT - 1);
	assert_string_equal(of_long_path("/", TW_NAME_TEXT - 8, ".service").unit, "");
	who = of_long_path("/machine.slice/machine-", TW_ID_TEXT - 1, ".scope");
	assert_int_equal(strlen(who.id), TW_ID_TEXT - 1);
	who = of_long_path("/machine.slice/machine-", TW_NAME_TEXT + 9, ".scope");
	assert_int_equal(who.kind, TW_OWNER_NONE);
	assert_null(who.runtime);
}

/* An id of a VM is its name if that is no longer than an id. */
static void a_name_is_an_id_if_it_fits(void **state)
{
	static const size_t lens[] = { TW_ID_TEXT - 1, TW_ID_TEXT, TW_NAME_TEXT - 1,
				       TW_NAME_TEXT };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(lens); i++) {
		char *args = long_text("kvm -name ", lens[i], "");
		struct tw_identity who;

		args[3] = args[9] = '\0';
		assert_true(tw_identity_of_command(args, 10 + lens[i], &who));
		assert_int_equal(strlen(who.name), lens[i] < TW_NAME_TEXT ? lens[i] : 0);
		assert_int_equal(strlen(who.id), lens[i] < TW_ID_TEXT ? lens[i] : 0);
		free(args);
	}
}

/* The digits of an id, and the bytes beside them. */
static void ids_have_hex_digits_in_lower_case(void **state)
{
	static const struct {
		char c;
		bool hex;
	} cases[] = { { '0', true },  { '9', true },  { 'a', true },
		      { 'f', true },  { '.', false }, { ':', false },
		      { '`', false }, { 'g', false }, { 'A', false } };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		char path[] = "/docker/" HEX;
		struct tw_identity who;

		path[sizeof(path) - 2] = cases[i].c;
		tw_identity_of_path(path, strlen(path), &who);
		assert_int_equal(who.kind == TW_OWNER_CONTAINER, cases[i].hex);
	}
}

static void bytes_outside_printable_ascii_are_in_no_id(void **state)
{
	static const char bytes[] = "\x1f\x7f\x80\xe4\xff";

	(void)state;
	for (const char *c = bytes; *c != '\0'; c++) {
		char path[] = "/lxc/a.b";
		struct tw_identity who;

		path[6] = *c;
		tw_identity_of_path(path, strlen(path), &who);
		assert_int_equal(who.kind, TW_OWNER_NONE);
		path[5] = *c;
		path[6] = '.';
		tw_identity_of_path(path, strlen(path), &who);
		assert_int_equal(who.kind, TW_OWNER_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_gives_the_owner),
		cmocka_unit_test(a_command_line_gives_the_virtual_machine),
		cmocka_unit_test(owner_len_ends_at_the_owners_element),
		cmocka_unit_test(a_path_gives_the_job_and_step_of_slurm),
		cmocka_unit_test(texts_too_long_or_not_printable_are_ignored),
		cmocka_unit_test(texts_are_whole_or_not_there),
		cmocka_unit_test(a_name_is_an_id_if_it_fits),
		cmocka_unit_test(ids_have_hex_digits_in_lower_case),
		cmocka_unit_test(bytes_outside_printable_ascii_are_in_no_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
