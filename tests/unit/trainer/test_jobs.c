/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"
#include "trainer/service/jobs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Nothing here waits for the disk. */
int fsync(int fd)
{
	(void)fd;
	return 0;
}

/* The time of day, where a test sets it. */
static int64_t time_ms;

int clock_gettime(clockid_t clock, struct timespec *out)
{
	const long rc = syscall(SYS_clock_gettime, clock, out);

	if (clock == CLOCK_REALTIME && time_ms != 0) {
		out->tv_sec = time_ms / 1000;
		out->tv_nsec = time_ms % 1000 * 1000000;
	}
	return (int)rc;
}

static bool no_chance;

ssize_t getrandom(void *out, size_t size, unsigned flags)
{
	return no_chance ? 0 : syscall(SYS_getrandom, out, size, flags);
}

static struct tw_jobs *open_jobs(const char *dir, size_t unread_wanted)
{
	struct tw_err err = { 0 };
	struct tw_jobs *t;
	size_t unread;

	if (tw_jobs_open(dir, &t, &unread, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(unread, unread_wanted);
	return t;
}

static void count_cancel(void *arg)
{
	++*(int *)arg;
}

static struct tw_job *add(struct tw_jobs *t, const char *pipeline, int *cancelled)
{
	struct tw_err err = { 0 };
	struct tw_job *job;

	if (tw_jobs_add(t, pipeline, count_cancel, cancelled, &job, &err) < 0)
		fail_msg("%s", err.text);
	return job;
}

static void end(struct tw_jobs *t, struct tw_job *job, struct tw_job_end e)
{
	struct tw_err err = { 0 };

	if (tw_jobs_end(t, job, &e, &err) < 0)
		fail_msg("%s", err.text);
}

static void shows(struct tw_jobs *t, const char *id, const char *want)
{
	struct tw_buf b = { 0 };

	assert_true(tw_jobs_show(t, id, &b));
	if (strstr(b.data, want) == NULL)
		fail_msg("'%s' is not in %s", want, b.data);
	tw_buf_clear(&b);
}

static void a_job_has_a_state_a_stage_and_a_progress(void **state)
{
	struct tw_jobs *t = open_jobs(NULL, 0);
	int cancelled = 0;
	struct tw_job *job = add(t, "web", &cancelled);
	struct tw_err err = { 0 };
	char id[TW_JOB_ID];

	(void)state;
	strcpy(id, tw_job_id(job));
	shows(t, id, "\"pipeline\":\"web\",\"state\":\"waiting\",\"created\":");
	assert_int_equal(tw_jobs_begin(t, job, &err), 0);
	/* Nobody knows yet how long it takes. */
	shows(t, id, "\"state\":\"running\",\"progress\":0.000,\"created\"");
	tw_jobs_progress(t, job, "fit", 0.25, 12.5);
	shows(t, id,
	      "\"state\":\"running\",\"stage\":\"fit\",\"progress\":0.250,"
	      "\"remaining_s\":12.5");
	/* A report that comes late does not turn the progress back. */
	tw_jobs_progress(t, job, "fit", 0.125, -1.0);
	shows(t, id, "\"progress\":0.250,\"created\"");
	end(t, job, (struct tw_job_end){ .state = TW_JOB_DONE, .models = 3 });
	shows(t, id, "\"models\":3,\"published\":false}");
	tw_jobs_close(t);
}

static void a_job_is_cancelled_until_it_has_ended(void **state)
{
	struct tw_jobs *t = open_jobs(NULL, 0);
	int cancelled = 0;
	struct tw_job *job = add(t, "web", &cancelled);
	struct tw_err none = { 0 }, ended = { 0 }, unknown = { 0 };
	char id[TW_JOB_ID];

	(void)state;
	strcpy(id, tw_job_id(job));
	assert_int_equal(tw_jobs_cancel(t, id, &none), 0);
	assert_int_equal(cancelled, 1);
	end(t, job, (struct tw_job_end){ .state = TW_JOB_CANCELLED, .error = "why" });
	shows(t, id, "\"state\":\"cancelled\"");
	shows(t, id, "\"error\":\"why\"");
	assert_int_equal(tw_jobs_cancel(t, id, &ended), -1);
	assert_int_equal(ended.code, TW_INVALID);
	assert_int_equal(tw_jobs_cancel(t, "x", &unknown), -1);
	assert_int_equal(unknown.code, TW_NOTFOUND);
	assert_int_equal(cancelled, 1);
	tw_jobs_close(t);
}

static void jobs_outlive_the_process_or_are_lost(void **state)
{
	char *dir = scratch_new();
	struct tw_jobs *t = open_jobs(dir, 0);
	int cancelled = 0;
	struct tw_job *done = add(t, "done", &cancelled);
	char done_id[TW_JOB_ID], lost_id[TW_JOB_ID];
	size_t count[TW_JOB_STATES];

	(void)state;
	strcpy(done_id, tw_job_id(done));
	end(t, done,
	    (struct tw_job_end){ .state = TW_JOB_DONE, .models = 2, .published = true });
	strcpy(lost_id, tw_job_id(add(t, "lost", &cancelled)));
	tw_jobs_close(t);

	for (int i = 0; i < 2; i++) {
		t = open_jobs(dir, 0);
		shows(t, done_id, "\"state\":\"done\"");
		shows(t, done_id, "\"models\":2,\"published\":true");
		shows(t, lost_id, "\"state\":\"lost\"");
		shows(t, lost_id, "the trainer ended before this job did");
		tw_jobs_count(t, count);
		assert_int_equal(count[TW_JOB_DONE], 1);
		assert_int_equal(count[TW_JOB_LOST], 1);
		tw_jobs_close(t);
	}
	scratch_free(dir);
}

static void write_file(const char *dir, const char *name, const char *text)
{
	struct tw_err err = { 0 };
	char *path;

	assert_int_equal(tw_path_join(&path, &err, dir, name, NULL), 0);
	assert_int_equal(tw_file_create(path, text, strlen(text), &err), 0);
	free(path);
}

static void a_directory_is_made_and_without_one_nothing_is_closed(void **state)
{
	char *dir = scratch_path(*state, "a/b");
	const int input = open("/dev/null", O_RDONLY);

	tw_jobs_close(open_jobs(dir, 0));
	assert_int_equal(access(dir, F_OK), 0);
	free(dir);
	dup2(input, STDIN_FILENO);
	tw_jobs_close(open_jobs(NULL, 0));
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	close(input);
}

static void files_that_are_no_records_are_counted_and_kept(void **state)
{
	static const char good[] =
		"{\"id\":\"a\",\"pipeline\":\"web\",\"state\":\"done\","
		"\"ended\":\"9000-01-01T00:00:00Z\"}";
	char *dir = scratch_new();
	struct tw_jobs *t;

	(void)state;
	write_file(dir, "a.json", good);
	write_file(dir, "b.json", good); /* of job a */
	write_file(dir, "c.json", "{\"id\":\"../c\"}");
	write_file(dir, "d.json", "");
	write_file(dir, "e.json", "{\"id\":\"e\",\"pipeline\":\"w\",\"state\":\"odd\"}");
	write_file(dir, "ab.json", good);
	write_file(dir, "notes", "mine");
	for (int i = 0; i < 2; i++) {
		t = open_jobs(dir, 5);
		shows(t, "a", "\"state\":\"done\"");
		tw_jobs_close(t);
	}
	scratch_free(dir);
}

static void two_processes_do_not_share_a_directory(void **state)
{
	char *dir = scratch_new();
	struct tw_jobs *t = open_jobs(dir, 0), *other;
	struct tw_err err = { 0 };
	size_t unread;

	(void)state;
	assert_int_equal(tw_jobs_open(dir, &other, &unread, &err), -1);
	assert_non_null(strstr(err.text, "is in use by another tw-trainer"));
	tw_jobs_close(t);
	scratch_free(dir);
}

static char *read_record(const char *dir, const char *id)
{
	struct tw_err err = { 0 };
	char name[TW_JOB_ID + 8], *path, *text = NULL;
	size_t len;

	snprintf(name, sizeof(name), "%s.json", id);
	path = scratch_path(dir, name);
	if (tw_file_read(path, 65536, &text, &len, &err) < 0)
		assert_int_equal(err.code, TW_NOTFOUND);
	free(path);
	return text;
}

static void old_jobs_and_pipelines_are_dropped_running_ones_never(void **state)
{
	char *dir = scratch_new(), first_zip[TW_JOB_ID] = "", last_zip[TW_JOB_ID] = "";
	struct tw_jobs *t = open_jobs(dir, 0);
	size_t count[TW_JOB_STATES], len;
	struct tw_err gone = { 0 }, err = { 0 };
	struct tw_jobs_zip *zip;
	int cancelled = 0;
	struct tw_job *running = add(t, "running", &cancelled);
	char *record, id[TW_JOB_ID];

	(void)state;
	strcpy(id, tw_job_id(running));
	for (int i = 0; i < TW_JOBS_MAX + 10; i++) {
		struct tw_job *job = add(t, "web", &cancelled);

		if (i == TW_JOBS_MAX)
			strcpy(first_zip, tw_job_id(job));
		strcpy(last_zip, tw_job_id(job));
		end(t, job,
		    (struct tw_job_end){
			    .state = TW_JOB_DONE, .zip = strdup("zip"), .zip_len = 3 });
	}
	tw_jobs_count(t, count);
	assert_int_equal(count[TW_JOB_DONE], TW_JOBS_MAX);
	assert_int_equal(count[TW_JOB_WAITING], 1);
	assert_int_equal(tw_jobs_zip(t, first_zip, &zip, &gone), -1);
	assert_int_equal(gone.code, TW_INVALID);
	assert_int_equal(tw_jobs_zip(t, last_zip, &zip, &err), 0);
	record = read_record(dir, id);
	assert_non_null(record);
	free(record);
	/* It is old when it ends. */
	end(t, running, (struct tw_job_end){ .state = TW_JOB_FAILED, .error = "x" });
	assert_null(read_record(dir, id));
	tw_jobs_close(t);
	/* A reply may still hold the bytes. */
	assert_memory_equal(tw_jobs_zip_data(zip, &len), "zip", 3);
	assert_int_equal(len, 3);
	tw_jobs_zip_free(zip);
	t = open_jobs(dir, 0);
	tw_jobs_count(t, count);
	assert_true(count[TW_JOB_DONE] <= TW_JOBS_MAX);
	assert_true(count[TW_JOB_DONE] >= TW_JOBS_MAX - 1);
	tw_jobs_close(t);
	scratch_free(dir);
}

/* ---- identities, files and lists ---- */

static void identities_grow(void **state)
{
	struct tw_jobs *t = open_jobs(NULL, 0);
	char last[TW_JOB_ID] = "", want[TW_JOB_ID];
	int cancelled = 0;

	(void)state;
	/* Many in one millisecond, from the time of day on. */
	time_ms = INT64_C(1500000000123);
	for (int i = 0; i < 200; i++) {
		struct tw_job *job = add(t, "web", &cancelled);

		snprintf(want, sizeof(want), "%012llx",
			 (unsigned long long)(time_ms + i));
		assert_memory_equal(tw_job_id(job), want, 12);
		assert_int_equal(strlen(tw_job_id(job)), 20);
		assert_true(strncmp(tw_job_id(job), last, 12) > 0);
		strcpy(last, tw_job_id(job));
		end(t, job, (struct tw_job_end){ .state = TW_JOB_DONE });
	}
	time_ms = 0;
	tw_jobs_close(t);
}

/* Ids that somebody can guess would be those of other processes, too. */
static void without_chance_there_is_no_identity(void **state)
{
	struct tw_jobs *t = open_jobs(NULL, 0);
	size_t count[TW_JOB_STATES];
	struct tw_err err = { 0 };
	struct tw_job *job;

	(void)state;
	no_chance = true;
	assert_int_equal(tw_jobs_add(t, "web", count_cancel, NULL, &job, &err), -1);
	no_chance = false;
	assert_string_not_equal(err.text, "");
	tw_jobs_count(t, count);
	assert_int_equal(count[TW_JOB_WAITING], 0);
	tw_jobs_close(t);
}

static void a_job_that_runs_is_shown_as_it_is_cancelled(void **state)
{
	struct tw_jobs *t = open_jobs(NULL, 0);
	int cancelled = 0;
	struct tw_job *job = add(t, "web", &cancelled);
	struct tw_err err = { 0 };
	char id[TW_JOB_ID];

	(void)state;
	strcpy(id, tw_job_id(job));
	assert_int_equal(tw_jobs_cancel(t, id, &err), 0);
	shows(t, id, "\"state\":\"waiting\",\"created\"");
	assert_int_equal(tw_jobs_begin(t, job, &err), 0);
	tw_jobs_progress(t, job, "fit", 0.5, 12.5);
	shows(t, id,
	      "\"state\":\"running\",\"stage\":\"cancel\",\"progress\":0.500,"
	      "\"created\"");
	end(t, job, (struct tw_job_end){ .state = TW_JOB_DONE });
	shows(t, id, "\"state\":\"done\"");
	tw_jobs_close(t);
}

static void a_file_has_each_state(void **state)
{
	static const char *const wanted[] = { "\"state\":\"waiting\"",
					      "\"state\":\"running\"",
					      "\"state\":\"failed\"" };
	struct tw_jobs *t = open_jobs(*state, 0);
	int cancelled = 0;
	struct tw_job *job = add(t, "web", &cancelled);
	struct tw_err err = { 0 };
	char id[TW_JOB_ID];

	strcpy(id, tw_job_id(job));
	for (size_t i = 0; i < 3; i++) {
		char *text;

		if (i == 1)
			assert_int_equal(tw_jobs_begin(t, job, &err), 0);
		if (i == 2)
			end(t, job,
			    (struct tw_job_end){ .state = TW_JOB_FAILED, .error = "x" });
		text = read_record(*state, id);
		assert_non_null(text);
		assert_non_null(strstr(text, wanted[i]));
		assert_non_null(strstr(text, "\"pipeline\":\"web\""));
		assert_int_equal(text[strlen(text) - 1], '\n');
		free(text);
	}
	tw_jobs_close(t);
}

/* Jobs of more than a week ago go, with their files; others stay. */
static void old_jobs_go_with_their_files(void **state)
{
	static const char old[] = "{\"id\":\"a\",\"pipeline\":\"web\",\"state\":\"done\","
				  "\"ended\":\"2000-01-01T00:00:00Z\"}";
	static const char late[] =
		"{\"id\":\"b\",\"pipeline\":\"web\",\"state\":\"done\","
		"\"ended\":\"9000-01-01T00:00:00Z\"}";
	char longest[TW_JOB_ID], name[TW_JOB_ID + 8], record[256];
	struct tw_buf b = { 0 };
	struct tw_jobs *t;
	char *text;

	write_file(*state, "a.json", old);
	write_file(*state, "b.json", late);
	snprintf(longest, sizeof(longest), "%0*d", TW_JOB_ID - 1, 7);
	snprintf(name, sizeof(name), "%s.json", longest);
	snprintf(record, sizeof(record),
		 "{\"id\":\"%s\",\"pipeline\":\"web\",\"state\":\"done\","
		 "\"ended\":\"2000-01-01T00:00:00Z\"}",
		 longest);
	write_file(*state, name, record);
	/* No names of records. */
	write_file(*state, ".b.json", "x");
	write_file(*state, ".json", "x");
	write_file(*state, "b.json.tmp", "x");
	t = open_jobs(*state, 0);
	assert_false(tw_jobs_show(t, "a", &b));
	shows(t, "b", "\"state\":\"done\"");
	tw_jobs_close(t);
	assert_null(read_record(*state, "a"));
	assert_null(read_record(*state, longest));
	text = read_record(*state, "b");
	assert_non_null(text);
	free(text);
	tw_buf_clear(&b);
}

static bool is_mine(void *arg, const char *pipeline)
{
	return strcmp(pipeline, arg) != 0;
}

static void list_of(struct tw_jobs *t, tw_jobs_may_fn *may, void *arg, struct tw_buf *out)
{
	struct tw_err err = { 0 };

	if (tw_jobs_list(t, may, arg, out, &err) < 0)
		fail_msg("%s", err.text);
}

static void a_list_has_the_newest_first_of_those_that_may_be_seen(void **state)
{
	struct tw_jobs *t = open_jobs(NULL, 0);
	struct tw_buf list = { 0 }, want = { 0 };
	char pipeline[TW_JOB_PIPELINE];
	struct tw_job *job[4];
	int cancelled = 0;
	char yours[] = "yours";

	(void)state;
	list_of(t, is_mine, yours, &list);
	assert_string_equal(list.data, "{\"jobs\":[]}");
	for (int i = 0; i < 4; i++)
		job[i] = add(t, i == 2 ? yours : "mine", &cancelled);
	tw_buf_adds(&want, "{\"jobs\":[");
	for (int i = 3; i >= 0; i--)
		if (i != 2) {
			assert_true(tw_jobs_show(t, tw_job_id(job[i]), &want));
			tw_buf_adds(&want, i > 0 ? "," : "]}");
		}
	tw_buf_clear(&list);
	list_of(t, is_mine, yours, &list);
	assert_string_equal(list.data, want.data);
	assert_true(tw_jobs_pipeline(t, tw_job_id(job[2]), pipeline));
	assert_string_equal(pipeline, "yours");
	assert_false(tw_jobs_pipeline(t, "x", pipeline));
	for (int i = 0; i < 4; i++)
		end(t, job[i], (struct tw_job_end){ .state = TW_JOB_DONE });
	tw_buf_clear(&list);
	tw_buf_clear(&want);
	tw_jobs_close(t);
}

static struct tw_jobs *listed;
static int unlinked;

/* A file that goes must not hold up other clients of the table. */
int unlink(const char *path)
{
	size_t count[TW_JOB_STATES];

	if (listed != NULL) {
		tw_jobs_count(listed, count);
		unlinked++;
	}
	return unlinkat(AT_FDCWD, path, 0);
}

/* Rights may be read from the disk. */
static bool asks_the_table(void *arg, const char *pipeline)
{
	size_t count[TW_JOB_STATES];

	(void)pipeline;
	tw_jobs_count(arg, count);
	return true;
}

static void a_list_holds_nobody_up(void **state)
{
	struct tw_jobs *t = open_jobs(*state, 0);
	struct tw_buf list = { 0 };
	int cancelled = 0;

	/* A table that is locked meanwhile would wait for itself. */
	alarm(60);
	listed = t;
	time_ms = INT64_C(1500000000123);
	for (int i = 0; i < 2; i++) {
		struct tw_job *job = add(t, "web", &cancelled);

		end(t, job, (struct tw_job_end){ .state = TW_JOB_DONE });
	}
	list_of(t, asks_the_table, t, &list);
	assert_non_null(strstr(list.data, "\"state\":\"done\""));
	assert_int_equal(unlinked, 0);
	/* For a week, to the millisecond. */
	time_ms += TW_JOBS_AGE_MS;
	tw_buf_clear(&list);
	list_of(t, asks_the_table, t, &list);
	assert_int_equal(unlinked, 0);
	time_ms++;
	tw_buf_clear(&list);
	list_of(t, asks_the_table, t, &list);
	assert_string_equal(list.data, "{\"jobs\":[]}");
	assert_int_equal(unlinked, 2);
	listed = NULL;
	time_ms = 0;
	alarm(0);
	tw_buf_clear(&list);
	tw_jobs_close(t);
}

static void without_memory_there_is_no_list(void **state)
{
	struct tw_jobs *t = open_jobs(NULL, 0);
	char yours[] = "yours";

	(void)state;
	for (int n = 1;; n++) {
		struct tw_buf list = { 0 };
		struct tw_err err = { 0 };
		bool failed;
		int rc;

		fail_alloc_at(n);
		rc = tw_jobs_list(t, is_mine, yours, &list, &err);
		failed = tw_buf_failed(&list);
		tw_buf_clear(&list);
		if (!failed && !fail_alloc_told(rc, &err))
			break;
	}
	tw_jobs_close(t);
}

static bool has_zip(struct tw_jobs *t, const char *id)
{
	struct tw_jobs_zip *zip = NULL;
	struct tw_err err = { 0 };
	const int rc = tw_jobs_zip(t, id, &zip, &err);

	assert_int_equal(rc == 0, zip != NULL);
	tw_jobs_zip_free(zip);
	return rc == 0;
}

/* The newest eight, and no more bytes than may be kept. */
static void pipelines_are_kept_as_far_as_they_fit(void **state)
{
	static const struct {
		size_t first, second;
		bool kept;
	} sizes[] = { { 1, TW_JOBS_ZIP_BYTES - 1, true },
		      { 2, TW_JOBS_ZIP_BYTES - 1, false },
		      { TW_JOBS_ZIP_BYTES, 1, false } };
	char id[TW_JOBS_ZIPS + 1][TW_JOB_ID];
	struct tw_jobs *t = open_jobs(NULL, 0);
	struct tw_jobs_zip *zip;
	struct tw_err err = { 0 };
	int cancelled = 0;

	(void)state;
	for (int i = 0; i <= TW_JOBS_ZIPS; i++) {
		struct tw_job *job = add(t, "web", &cancelled);

		strcpy(id[i], tw_job_id(job));
		end(t, job,
		    (struct tw_job_end){ .state = TW_JOB_DONE,
					 .published = i == 0,
					 .zip = strdup("zip"),
					 .zip_len = 3 });
		assert_true(has_zip(t, id[0]) == (i < TW_JOBS_ZIPS));
		assert_true(has_zip(t, id[i]));
	}
	assert_true(has_zip(t, id[1]));
	assert_int_equal(tw_jobs_zip(t, id[0], &zip, &err), -1);
	assert_non_null(
		strstr(err.text, "is done and has no pipeline here; it is in the"));
	tw_err_clear(&err);
	assert_int_equal(tw_jobs_zip(t, "x", &zip, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	tw_jobs_close(t);
	/* Only the length counts. */
	for (size_t i = 0; i < 3; i++) {
		t = open_jobs(NULL, 0);
		for (int k = 0; k < 2; k++) {
			struct tw_job *job = add(t, "web", &cancelled);

			strcpy(id[k], tw_job_id(job));
			end(t, job,
			    (struct tw_job_end){ .state = TW_JOB_DONE,
						 .zip = strdup("zip"),
						 .zip_len = k == 0 ? sizes[i].first
								   : sizes[i].second });
		}
		assert_int_equal(has_zip(t, id[0]), sizes[i].kept);
		assert_true(has_zip(t, id[1]));
		tw_jobs_close(t);
	}
}

static void without_memory_there_are_no_jobs(void **state)
{
	for (int n = 1;; n++) {
		struct tw_jobs *t = NULL;
		struct tw_err err = { 0 };
		size_t unread;
		int rc;

		fail_alloc_at(n);
		rc = tw_jobs_open(*state, &t, &unread, &err);
		if (!fail_alloc_told(rc, &err)) {
			tw_jobs_close(t);
			break;
		}
	}
}

/* A job that cannot be added is not there: neither in the table nor as a file. */
static void without_memory_no_job_is_added(void **state)
{
	struct tw_jobs *t = open_jobs(*state, 0);
	size_t count[TW_JOB_STATES];
	struct tw_job *job = NULL;
	int cancelled = 0;

	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_jobs_add(t, "web", count_cancel, &cancelled, &job, &err);
		if (!fail_alloc_told(rc, &err))
			break;
		tw_jobs_count(t, count);
		assert_int_equal(count[TW_JOB_WAITING], 0);
	}
	end(t, job, (struct tw_job_end){ .state = TW_JOB_DONE });
	tw_jobs_close(t);
}

#define IN_SCRATCH(name) \
	cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_has_a_state_a_stage_and_a_progress),
		cmocka_unit_test(a_job_is_cancelled_until_it_has_ended),
		cmocka_unit_test(jobs_outlive_the_process_or_are_lost),
		IN_SCRATCH(a_directory_is_made_and_without_one_nothing_is_closed),
		cmocka_unit_test(files_that_are_no_records_are_counted_and_kept),
		cmocka_unit_test(two_processes_do_not_share_a_directory),
		cmocka_unit_test(old_jobs_and_pipelines_are_dropped_running_ones_never),
		cmocka_unit_test(identities_grow),
		cmocka_unit_test(without_chance_there_is_no_identity),
		cmocka_unit_test(a_job_that_runs_is_shown_as_it_is_cancelled),
		IN_SCRATCH(a_file_has_each_state),
		IN_SCRATCH(old_jobs_go_with_their_files),
		cmocka_unit_test(a_list_has_the_newest_first_of_those_that_may_be_seen),
		IN_SCRATCH(a_list_holds_nobody_up),
		cmocka_unit_test(without_memory_there_is_no_list),
		cmocka_unit_test(pipelines_are_kept_as_far_as_they_fit),
		IN_SCRATCH(without_memory_there_are_no_jobs),
		IN_SCRATCH(without_memory_no_job_is_added),
	};

	return cmocka_run_group_tests_name("jobs", tests, NULL, NULL);
}
