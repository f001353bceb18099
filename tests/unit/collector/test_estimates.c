/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "collector/power/estimates.h"
#include "collector/power/model_finder.h"
#include "collector/power/source_model.h"
#include "collector/power/node.h"
#include "collector/power/power.h"
#include "collector/system/roots.h"
#include "collector/system/virtual.h"
#include "estimator/predict/power_model.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/zip/fileset.h"
#include "model-db/model_files.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bias 10 and, of NodeCPU's features in order, i + 1 W for each 1000 a second. */
static const struct sample four_cores = { .group = "NodeCPU", .spec = { .cores = 4 } };

struct fixture {
	char *top, *model, *sys;
	struct tw_node node;
	struct tw_strs paths;
	struct tw_estimates *estimates;
};

static void write_model(const struct fixture *f, const struct sample *s)
{
	struct tw_model m = { 0 };
	struct tw_fileset files = { 0 };
	struct tw_err err = { 0 };

	sample_model(s, &m);
	assert_int_equal(tw_model_to_files(&m, &files, &err), 0);
	assert_int_equal(tw_dir_make(f->model, &err), 0);
	for (size_t i = 0; i < files.count; i++) {
		char *path = NULL;

		assert_int_equal(
			tw_path_join(&path, &err, f->model, files.at[i].name, NULL), 0);
		if (tw_file_replace(path, files.at[i].data, files.at[i].len, &err) < 0)
			fail_msg("%s", err.text);
		free(path);
	}
	tw_fileset_clear(&files);
	tw_model_release(&m);
}

static void write_text(const char *dir, const char *name, const char *text)
{
	struct tw_err err = { 0 };
	char *path = NULL;

	assert_int_equal(tw_dir_make(dir, &err), 0);
	assert_int_equal(tw_path_join(&path, &err, dir, name, NULL), 0);
	assert_int_equal(tw_file_replace(path, text, strlen(text), &err), 0);
	free(path);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct tw_err err = { 0 };
	char *cpu = NULL;

	assert_non_null(f);
	f->top = scratch_new();
	assert_int_equal(tw_path_join(&f->model, &err, f->top, "m", NULL), 0);
	assert_int_equal(tw_path_join(&f->sys, &err, f->top, "sys", NULL), 0);
	assert_int_equal(tw_path_join(&cpu, &err, f->sys, "devices/system/cpu", NULL), 0);
	write_text(cpu, "present", "0-1\n");
	free(cpu);
	assert_int_equal(tw_strs_adds(&f->paths, f->model, &err), 0);
	write_model(f, &four_cores);
	/* A tick of half a second with 1000 context switches. */
	f->node = (struct tw_node){ .fresh = true,
				    .elapsed_ns = 500000000,
				    .last_ns = 500000000,
				    .used_ns = 500000000,
				    .cpus = 2 };
	f->node.last.context_switches = 1000;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tw_estimates_close(f->estimates);
	tw_strs_clear(&f->paths);
	scratch_free(f->top);
	free(f->model);
	free(f->sys);
	free(f);
	return 0;
}

static int open_one(struct fixture *f, enum tw_estimated_idle idle, struct tw_err *err)
{
	const struct tw_estimates_config c = { .paths = &f->paths,
					       .finder_fd = -1,
					       .idle = idle,
					       .proc = f->top,
					       .sys = f->sys };

	tw_estimates_close(f->estimates);
	f->estimates = NULL;
	return tw_estimates_open(&c, &f->node, NULL, &f->estimates, err);
}

/* rapl-sysfs: package, core, uncore, dram, of which the sample has the first and the
 * last. */
static void reads(struct fixture *f, double power_w, double idle_w)
{
	struct tw_reading r[TW_COMPONENT_COUNT];
	size_t count;

	tw_estimates_zones(f->estimates, &count);
	assert_int_equal(count, 4);
	tw_estimates_read(f->estimates, r);
	for (size_t i = 0; i < count; i += 3) {
		assert_true(r[i].readable && r[i].has_idle);
		if (fabs(r[i].power_w - power_w) > 1e-9 ||
		    fabs(r[i].idle_w - idle_w) > 1e-9)
			fail_msg("%g W, %g idle", r[i].power_w, r[i].idle_w);
	}
	assert_false(r[1].readable);
	assert_string_equal(r[1].why, "the model has no core");
}

static void idle_power_is_scaled_by_cores_or_left_out(void **state)
{
	struct fixture *f = *state;
	struct tw_err err = { 0 };

	/* 2000 a second, weight 1: 2 W above the 10 of a machine of four cores. */
	assert_int_equal(open_one(f, TW_ESTIMATED_IDLE_SCALE, &err), 0);
	reads(f, 7, 5);
	assert_int_equal(open_one(f, TW_ESTIMATED_IDLE_HIDE, &err), 0);
	reads(f, 2, 0);
	assert_int_equal(open_one(f, TW_ESTIMATED_IDLE_AUTO, &err), 0);
	reads(f, 7, 5);
	write_text(f->top, "cpuinfo", "processor: 0\nflags: fpu hypervisor sse\n");
	assert_true(tw_is_virtual(f->top, f->sys));
	assert_int_equal(open_one(f, TW_ESTIMATED_IDLE_AUTO, &err), 0);
	reads(f, 2, 0);
	write_text(f->top, "cpuinfo", "processor: 0\nflags: fpu hypervisor_not\n");
	assert_false(tw_is_virtual(f->top, f->sys));
}

#define ARM "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n"
#define X86 "processor: 0\nflags: fpu sse\n"

/* Texts of DMI as users of these machines report them. */
static void a_guest_is_known_by_the_texts_of_its_firmware(void **state)
{
	static const struct {
		const char *cpuinfo, *file, *text, *product;
		bool guest;
	} cases[] = {
		{ ARM, "sys_vendor", "Amazon EC2", "m7g.large", true },
		{ ARM, "sys_vendor", "Amazon EC2", "m7g.metal", false },
		{ ARM, "chassis_asset_tag", "Amazon EC2", "c8g.metal-24xl", false },
		{ X86, "sys_vendor", "Amazon EC2", "m7i.metal-24xl", false },
		{ ARM, "sys_vendor", "Google", "Google Compute Engine", true },
		{ X86, "sys_vendor", "Google", "Google Compute Engine", false },
		{ ARM, "sys_vendor", "Google", "Kukui", false },
		{ ARM, "sys_vendor", "Microsoft Corporation", "Virtual Machine", true },
		{ ARM, "sys_vendor", "Microsoft Corporation", "Surface Pro X", false },
		{ ARM, "chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "",
		  true },
		{ ARM, "sys_vendor", "Hetzner", "vServer", true },
		{ ARM, "sys_vendor", "Alibaba Cloud", "Alibaba Cloud ECS", true },
		{ ARM, "sys_vendor", "Alibaba Cloud", "Server", false },
		{ ARM, "sys_vendor", "OpenStack Foundation", "OpenStack Nova", true },
		{ ARM, "sys_vendor", "KubeVirt", "None", true },
		{ ARM, "sys_vendor", "Red Hat", "KVM", true },
		{ ARM, "sys_vendor", "Oracle Corporation", "VirtualBox", true },
		{ ARM, "sys_vendor", "Apple Inc.",
		  "Apple Virtualization Generic Platform", true },
		{ ARM, "bios_vendor", "EFI Development Kit II / OVMF", "Web 1", true },
		{ X86, "sys_vendor", "QEMU", "Standard PC", true },
		{ ARM, "sys_vendor", "Nutanix", "AHV", true },
		{ ARM, "sys_vendor", "Nutanix", "NX-3060-G5", false },
		{ ARM, "sys_vendor", "Ampere(R)", "Mt. Jade", false },
	};
	char name[64];

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		char *top = scratch_new();

		snprintf(name, sizeof(name), "class/dmi/id/%s", cases[i].file);
		tree_write(top, "cpuinfo", cases[i].cpuinfo);
		tree_write(top, "class/dmi/id/product_name", cases[i].product);
		tree_write(top, name, cases[i].text);
		if (tw_is_virtual(top, top) != cases[i].guest)
			fail_msg("%s '%s', product '%s'", cases[i].file, cases[i].text,
				 cases[i].product);
		scratch_free(top);
	}
}

static void a_guest_is_known_by_smbios_its_device_tree_or_xen(void **state)
{
	static const char compatible[] = "device-tree/compatible";
	static const char bios[2][20] = { { 0, 24, 0, 0 }, { 0, 24, [19] = 0x1c } };
	struct fixture *f = *state;
	struct tw_err err = { 0 };
	char *raw = scratch_path(f->top, "firmware/dmi/entries/0-0/raw");

	tree_write(f->top, "cpuinfo", ARM);
	tree_write(f->top, "firmware/dmi/entries/0-0/raw", "");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(tw_file_replace(raw, bios[i], sizeof(bios[i]), &err), 0);
		assert_int_equal(tw_is_virtual(f->top, f->top), i);
	}
	free(raw);
	tree_remove(f->top, "firmware");
	tree_write(f->top, compatible, "ampere,mtjade");
	assert_false(tw_is_virtual(f->top, f->top));
	tree_write(f->top, compatible, "linux,dummy-virt");
	assert_true(tw_is_virtual(f->top, f->top));
	tree_write(f->top, compatible, "ampere,mtjade");
	tree_write(f->top, "hypervisor/type", "xen\n");
	assert_true(tw_is_virtual(f->top, f->top));
	/* The first domain is the machine. */
	tree_write(f->top, "xen/capabilities", "control_d\n");
	assert_false(tw_is_virtual(f->top, f->top));
}

#define LINEAR(feature)                                                     \
	"{\"All_Weights\":{\"Bias_Weight\":0,\"Categorical_Variables\":{}," \
	"\"Numerical_Variables\":{\"" feature                               \
	"\":{\"scale\":1000,\"mean\":0,\"variance\":1,\"weight\":1}}}}"
#define FORM(bias, column, feature)                                               \
	"{\"bias\":" bias ",\"columns\":[" column "],\"members\":[{\"weight\":1," \
	"\"columns\":[0],\"predictor\":\"linear\",\"model\":" LINEAR(feature) "}]}"

/* Alone 10 W and 1 W per 1000 switches; as a series 20 W and those one tick earlier. */
static const struct sample looks_back = {
	.group = "NodeCPU",
	.spec = { .cores = 4 },
	.trainer = "AutoTrainer",
	.predictor = "ensemble",
	.text = "{\"ensemble\":{\"floor\":0,\"ceiling\":1000,\"step_ms\":500,"
		"\"alone\":" FORM(
			"10", "[0,0,0]",
			"node_context_switches") ","
						 "\"series\":" FORM(
							 "20", "[0,1,1]",
							 "node_context_switches@1") "}}"
};

static void a_model_that_looks_back_gets_the_earlier_ticks(void **state)
{
	struct fixture *f = *state;
	struct tw_reading r[TW_COMPONENT_COUNT];
	struct tw_err err = { 0 };

	write_model(f, &looks_back);
	assert_int_equal(open_one(f, TW_ESTIMATED_IDLE_SCALE, &err), 0);
	/* The first tick has none before it: (10 + 2) - 10, and half of 10. */
	reads(f, 2 + 5, 5);
	f->node.last.context_switches = 3000;
	reads(f, 2 + 10, 10);
	f->node.last.context_switches = 500;
	reads(f, 6 + 10, 10);
	/* The rest is that of a machine that has rested: its rows are never mixed in. */
	f->node.last.context_switches = 0;
	reads(f, 1 + 10, 10);
	reads(f, 0 + 10, 10);
	/* A tick without counters leaves a gap of two steps, and another one more. */
	f->node.last.context_switches = 1000;
	reads(f, 0 + 10, 10);
	f->node.fresh = false;
	tw_estimates_read(f->estimates, r);
	tw_estimates_read(f->estimates, r);
	assert_false(r[0].readable);
	f->node.fresh = true;
	/* The increase after it is of all ticks since the reading before. */
	f->node.last.context_switches = 3000;
	f->node.last_ns = 3 * f->node.elapsed_ns;
	reads(f, 2 + 5, 5);
	f->node.last.context_switches = 1000;
	f->node.last_ns = f->node.elapsed_ns;
	reads(f, 2 + 10, 10);
}

static void rows_beyond_the_training_range_are_counted(void **state)
{
	struct fixture *f = *state;
	struct tw_err err = { 0 };
	const struct tw_estimate *s;

	assert_int_equal(open_one(f, TW_ESTIMATED_IDLE_HIDE, &err), 0);
	reads(f, 2, 0);
	/* The sample was trained on 0 to a million. */
	f->node.last.context_switches = 1000000;
	reads(f, 2000, 0);
	s = tw_estimates_at(f->estimates, 0);
	assert_int_equal(s->rows, 2);
	assert_int_equal(s->rows_outside, 1);
	assert_int_equal(s->outside_ns, 500000000);
	assert_true(s->outside && s->fresh);
	assert_string_equal(tw_estimate_model(s), "SGDRegressorTrainer_0");
	/* What is not known now is no 0. */
	f->node.fresh = false;
	{
		struct tw_reading r[TW_COMPONENT_COUNT];

		tw_estimates_read(f->estimates, r);
		assert_false(r[0].readable);
		assert_string_equal(r[0].why, "the machine's counters are not available");
	}
	assert_int_equal(tw_estimates_at(f->estimates, 0)->rows, 2);
}

/* A model of DynPower knows no idle power, even if idle power is wanted. */
static void without_abspower_a_model_of_dynpower_gives_power_above_idle(void **state)
{
	struct tw_reading r[TW_COMPONENT_COUNT];
	struct fixture *f = *state;
	const struct tw_estimate *s;
	struct tw_err err = { 0 };

	write_model(f, &(struct sample){ .group = "NodeCPU", .output = TW_DYN_POWER });
	if (open_one(f, TW_ESTIMATED_IDLE_SCALE, &err) < 0)
		fail_msg("%s", err.text);
	tw_estimates_read(f->estimates, r);
	assert_true(r[0].readable);
	/* 2000 context switches a second, the first feature: 1 W for 1000. */
	assert_float_equal(r[0].power_w, 2, 1e-9);
	assert_float_equal(r[0].idle_w, 0, 1e-9);
	s = tw_estimates_at(f->estimates, 0);
	assert_int_equal(s->output, TW_DYN_POWER);
	assert_true(tw_estimates_hide_idle(f->estimates, s));
}

static void a_model_that_does_not_fit_is_refused(void **state)
{
	static const struct {
		struct sample s;
		const char *why;
	} cases[] = {
		{ { .group = "CounterOnly" }, "needs 'cache_miss', which is missing" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };

		write_model(f, &cases[i].s);
		assert_int_equal(open_one(f, TW_ESTIMATED_IDLE_HIDE, &err), -1);
		if (strstr(err.text, cases[i].why) == NULL)
			fail_msg("'%s' is not in '%s'", cases[i].why, err.text);
	}
}

static void a_file_is_read_again_once_it_stays(void **state)
{
	struct fixture *f = *state;
	struct tw_power_model *m = NULL;
	struct tw_model_file file;
	struct tw_err err = { 0 };

	assert_int_equal(tw_model_file_open(&file, f->model, &m, &err), 0);
	tw_power_model_free(m);
	assert_int_equal(tw_model_file_look(&file, &m, &err), 0);
	write_model(f, &four_cores);
	assert_int_equal(tw_model_file_look(&file, &m, &err), 0);
	assert_int_equal(tw_model_file_look(&file, &m, &err), 1);
	tw_power_model_free(m);
	assert_int_equal(tw_model_file_look(&file, &m, &err), 0);
	write_text(f->model, "metadata.json", "{");
	assert_int_equal(tw_model_file_look(&file, &m, &err), 0);
	assert_int_equal(tw_model_file_look(&file, &m, &err), -1);
	assert_int_equal(err.code, TW_PARSE);
	assert_int_equal(tw_model_file_look(&file, &m, &err), 0);
	tw_model_file_reload(&file);
	write_model(f, &four_cores);
	assert_int_equal(tw_model_file_look(&file, &m, &err), 0);
	assert_int_equal(tw_model_file_look(&file, &m, &err), 1);
	tw_power_model_free(m);
}

/* Copying a model over another, as cp(1) does, keeps the file and may keep its size. */
static void a_file_that_is_written_in_place_is_read_again(void **state)
{
	struct fixture *f = *state;
	char *path = scratch_path(f->model, "metadata.json");
	struct tw_power_model *m = NULL;
	struct tw_model_file file;
	struct tw_err err = { 0 };
	struct stat before, now;
	const int fd = open(path, O_RDWR | O_CLOEXEC);
	char c;

	assert_true(fd >= 0);
	assert_int_equal(tw_model_file_open(&file, f->model, &m, &err), 0);
	tw_power_model_free(m);
	assert_int_equal(fstat(fd, &before), 0);
	assert_int_equal(pread(fd, &c, 1, 0), 1);
	/* Until the kernel's clock has another time. */
	do {
		assert_int_equal(pwrite(fd, &c, 1, 0), 1);
		assert_int_equal(fstat(fd, &now), 0);
	} while (now.st_ctim.tv_sec == before.st_ctim.tv_sec &&
		 now.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
	assert_int_equal(tw_model_file_look(&file, &m, &err), 0);
	assert_int_equal(tw_model_file_look(&file, &m, &err), 1);
	tw_power_model_free(m);
	close(fd);
	free(path);
}

static void every_failed_allocation_is_reported(void **state)
{
	struct fixture *f = *state;

	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = open_one(f, TW_ESTIMATED_IDLE_HIDE, &err);
		if (!fail_alloc_hit()) {
			assert_int_equal(rc, 0);
			return;
		}
		/* Whether the machine is a virtual one may then not be known. */
		if (rc < 0)
			assert_int_equal(err.code, TW_NOMEM);
	}
}

static const struct tw_power_zone *zone_of(const struct tw_power *p, const char *source,
					   enum tw_zone_kind kind)
{
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(p, &count);

	for (size_t i = 0; i < count; i++)
		if (z[i].zone->kind == kind && strcmp(z[i].source, source) == 0)
			return &z[i];
	return NULL;
}

/*
 * RAPL of the package appears after the start, and measures the machine: no model of
 * another machine tells its dram any more, as if RAPL had been there from the start.
 */
static void a_last_resort_ends_when_a_meter_appears(void **state)
{
	struct fixture *f = *state;
	const struct tw_roots roots = { .proc = f->top, .sys = f->top, .dev = f->top };
	const struct tw_estimates_config ec = { .paths = &f->paths,
						.finder_fd = -1,
						.last_resort = true,
						.proc = f->top,
						.sys = f->sys };
	struct tw_power_config c = {
		.meter = { .roots = &roots, .node = &f->node, .nvml = "/nonexistent" }
	};
	struct tw_power *p = NULL;
	struct tw_err err = { 0 };
	uint64_t now_ns = 1000000000, uj = 1000000, dram_uj;

	assert_int_equal(tw_estimates_open(&ec, &f->node, NULL, &f->estimates, &err), 0);
	c.meter.estimates = f->estimates;
	assert_int_equal(tw_power_open(&c, &p, &err), 0);
	for (int i = 0; i < 40; i++) {
		if (i >= 5)
			tree_rapl(f->top, "class/powercap/intel-rapl:0", "package-0",
				  uj += 30000000, 262143328850);
		now_ns += 1000000000;
		tw_power_tick(p, now_ns, 1000000000, 0.5, NULL);
		if (i == 20) {
			assert_true(tw_power_complete(p, TW_ZONE_DRAM));
			assert_true(zone_of(p, "model", TW_ZONE_DRAM)->fresh);
			assert_int_equal(tw_estimates_count(f->estimates), 1);
		}
	}
	assert_string_equal(tw_power_source(p, TW_ZONE_PACKAGE), "rapl-sysfs");
	assert_null(tw_power_meter(p, TW_ZONE_DRAM));
	assert_false(tw_power_complete(p, TW_ZONE_DRAM));
	assert_int_equal(tw_estimates_count(f->estimates), 0);
	/* The zone keeps its energy, as any zone that another meter supersedes. */
	dram_uj = zone_of(p, "model", TW_ZONE_DRAM)->dynamic_uj +
		  zone_of(p, "model", TW_ZONE_DRAM)->idle_uj;
	assert_true(zone_of(p, "model", TW_ZONE_DRAM)->superseded);
	assert_true(dram_uj > 0);
	tw_power_tick(p, now_ns + 1000000000, 1000000000, 0.5, NULL);
	assert_int_equal(zone_of(p, "model", TW_ZONE_DRAM)->dynamic_uj +
				 zone_of(p, "model", TW_ZONE_DRAM)->idle_uj,
			 dram_uj);
	tw_power_close(p);
}

/* A finder that sends without end, as one that a server took over, holds no tick. */
static void a_finder_that_floods_is_heard_in_parts(void **state)
{
	struct fixture *f = *state;
	struct tw_strs sources = { 0 };
	struct tw_estimates_config c = { .sources = &sources,
					 .proc = f->top,
					 .sys = f->sys };
	struct tw_model_news news = { .confirmed_s = 1, .why = "none", .failing = 7 };
	struct tw_err err = { 0 };
	char features[4096];
	int end[2], heard = 0;

	assert_int_equal(tw_strs_adds(&sources, "rapl-sysfs", &err), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, end), 0);
	c.finder_fd = end[0];
	assert_int_equal(tw_estimates_open(&c, &f->node, NULL, &f->estimates, &err), 0);
	assert_true(recv(end[1], features, sizeof(features), 0) > 0);
	for (size_t i = 0; i < 3 * TW_FINDER_SOURCES_MAX; i++)
		assert_int_equal(send(end[1], &news, sizeof(news), 0), sizeof(news));
	close(end[1]);
	while (tw_estimates_hear(f->estimates))
		heard++;
	assert_int_equal(heard, 3);
	assert_int_equal(tw_estimates_fd(f->estimates), -1);
	assert_int_equal(tw_estimates_at(f->estimates, 0)->failing, 7);
	tw_strs_clear(&sources);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(idle_power_is_scaled_by_cores_or_left_out,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_finder_that_floods_is_heard_in_parts,
						setup, teardown),
		cmocka_unit_test(a_guest_is_known_by_the_texts_of_its_firmware),
		cmocka_unit_test_setup_teardown(
			a_guest_is_known_by_smbios_its_device_tree_or_xen, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_model_that_looks_back_gets_the_earlier_ticks, setup, teardown),
		cmocka_unit_test_setup_teardown(
			rows_beyond_the_training_range_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(
			without_abspower_a_model_of_dynpower_gives_power_above_idle,
			setup, teardown),
		cmocka_unit_test_setup_teardown(a_model_that_does_not_fit_is_refused,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_is_read_again_once_it_stays, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_file_that_is_written_in_place_is_read_again, setup, teardown),
		cmocka_unit_test_setup_teardown(a_last_resort_ends_when_a_meter_appears,
						setup, teardown),
		cmocka_unit_test_setup_teardown(every_failed_allocation_is_reported,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
