/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "profiler/cpu_identity.h"
#include "profiler/cpuinfo.h"
#include "profiler/discover.h"
#include "profiler/spec.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MACHINES "tests/data/proc-sys/"
#define CPU_DIR "sys/devices/system/cpu/"

static int count_cores(const char *list, uint32_t *out, struct tw_err *err)
{
	char *sys = scratch_new(), path[512];
	struct tw_err ours = { 0 };
	int rc;

	snprintf(path, sizeof(path), "%s/devices/system/cpu", sys);
	assert_int_equal(tw_dir_make(path, &ours), 0);
	snprintf(path, sizeof(path), "%s/devices/system/cpu/present", sys);
	if (list != NULL)
		assert_int_equal(tw_file_create(path, list, strlen(list), &ours), 0);
	rc = tw_cores_discover(sys, out, err);
	scratch_free(sys);
	return rc;
}

static void cores_are_counted_from_the_list_of_cpus(void **state)
{
	static const struct {
		const char *list;
		uint32_t want;
	} cases[] = {
		{ "0\n", 1 },   { "0-3\n", 4 },       { "0-95", 96 },
		{ "0,2\n", 2 }, { "0-3,5,7-8\n", 7 }, { "3-65535\n", 65533 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };
		uint32_t cores = 0;

		assert_int_equal(count_cores(cases[i].list, &cores, &err), 0);
		assert_int_equal(cores, cases[i].want);
	}
}

static void a_malformed_list_of_cpus_is_rejected(void **state)
{
	static const char *const lists[] = {
		"",      "\n", "a",   "0-",    "-1",          "3-1",   "0,0",
		"0-3,2", "0,", "0 1", "65536", "99999999999", "0\n\n",
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(lists); i++) {
		struct tw_err err = { 0 };
		uint32_t cores = 5;

		assert_int_equal(count_cores(lists[i], &cores, &err), -1);
		assert_int_equal(err.code, TW_PARSE);
		assert_non_null(strstr(err.text, "is not a list of CPUs"));
		assert_null(strchr(err.text, '\n'));
		assert_int_equal(cores, 5);
	}
}

static void a_machine_without_the_file_is_not_found(void **state)
{
	struct tw_err err = { 0 };
	uint32_t cores;

	(void)state;
	assert_int_equal(count_cores(NULL, &cores, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
}

/* ---- whole machines ---- */

static int discover(const char *machine, struct tw_machine_spec *out, struct tw_err *err)
{
	char proc[512], sys[512];

	snprintf(proc, sizeof(proc), "%s/proc", machine);
	snprintf(sys, sizeof(sys), "%s/sys", machine);
	return tw_machine_spec_discover(proc, sys, out, err);
}

static void recorded_machines_have_the_expected_specs(void **state)
{
	static const struct {
		const char *machine;
		struct tw_machine_spec want;
	} cases[] = {
		{ MACHINES "xeon-2-chips",
		  { "genuineintel", "intel_xeon_platinum_8259cl", 8, 2, 377, 3500, 2,
		    "amazon" } },
		/* One of its CPUs is offline, and only some of its cores have two
		 * threads. */
		{ MACHINES "core-hybrid",
		  { "genuineintel", "12th_gen_intel_core_i9_12900k", 6, 1, 31, 5200, 2,
		    "" } },
		/* The only chip has the package id 8228. */
		{ MACHINES "arm64-server",
		  { "arm", "neoverse_n1", 4, 1, 125, 3000, 1, "" } },
		/* No cpufreq: 2596.094 MHz measured. */
		{ MACHINES "kvm-guest",
		  { "authenticamd", "amd_epyc", 2, 1, 23, 2600, 2, "" } },
		/* Only the firmware names it. */
		{ MACHINES "arm64-unknown",
		  { "ampere", "ampere_altra_q80_30", 1, 1, 8, 0, 1, "" } },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_machine_spec s = { 0 };
		struct tw_err err = { 0 };
		const struct tw_machine_spec *want = &cases[i].want;

		if (discover(cases[i].machine, &s, &err) < 0)
			fail_msg("%s: %s", cases[i].machine, err.text);
		assert_string_equal(s.vendor, want->vendor);
		assert_string_equal(s.processor, want->processor);
		assert_int_equal(s.cores, want->cores);
		assert_int_equal(s.chips, want->chips);
		assert_int_equal(s.memory_gib, want->memory_gib);
		assert_int_equal(s.frequency_mhz, want->frequency_mhz);
		assert_int_equal(s.threads_per_core, want->threads_per_core);
		assert_string_equal(s.system_vendor, want->system_vendor);
	}
}

static void recorded_machines_have_the_expected_processors(void **state)
{
	static const struct {
		const char *machine, *architecture, *generation;
		enum tw_cpu_evidence how;
	} cases[] = {
		{ MACHINES "xeon-2-chips", "cascade_lake", "cascade_lake_sp",
		  TW_CPU_BY_NAME },
		{ MACHINES "core-hybrid", "alder_lake", "alder_lake", TW_CPU_BY_NAME },
		{ MACHINES "arm64-server", "neoverse_n1", "", TW_CPU_UNKNOWN },
		/* SMBIOS has the product. */
		{ MACHINES "arm64-unknown", "neoverse_n1", "altra", TW_CPU_BY_NAME },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		char proc[512], sys[512];
		struct tw_cpu_identity id;
		struct tw_err err = { 0 };

		snprintf(proc, sizeof(proc), "%s/proc", cases[i].machine);
		snprintf(sys, sizeof(sys), "%s/sys", cases[i].machine);
		if (tw_cpu_discover(proc, sys, &id, &err) < 0)
			fail_msg("%s: %s", cases[i].machine, err.text);
		assert_string_equal(id.architecture, cases[i].architecture);
		assert_string_equal(id.generation, cases[i].generation);
		assert_int_equal(id.how[TW_CPU_GENERATION], cases[i].how);
	}
}

static void cpuinfo_has_the_signature(void **state)
{
	static const char x86[] =
		"vendor_id\t: AuthenticAMD\ncpu family\t: 25\n"
		"model\t\t: 17\nmodel name\t: AMD EPYC\nstepping\t: 1\n\n"
		"model\t\t: 99\nstepping\t: 7\n";
	static const char arm[] = "CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n";
	struct tw_cpuinfo info;

	(void)state;
	tw_cpuinfo_parse(x86, sizeof(x86) - 1, &info);
	assert_string_equal(info.signature.vendor, "authenticamd");
	assert_string_equal(info.brand, "AMD EPYC");
	assert_int_equal(info.signature.family, 25);
	assert_int_equal(info.signature.model, 17);
	assert_int_equal(info.signature.stepping, 1);
	tw_cpuinfo_parse(arm, sizeof(arm) - 1, &info);
	assert_int_equal(info.signature.implementer, 0x41);
	assert_int_equal(info.signature.part, 0xd4f);
	assert_string_equal(info.brand, "");
	assert_string_equal(info.processor, "neoverse_v2");
}

static void this_machine_has_a_spec(void **state)
{
	struct tw_machine_spec s = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	if (tw_machine_spec_discover("/proc", "/sys", &s, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(tw_machine_spec_known(&s));
}

/* A machine of files "name" with "text"; NULL ends them. */
static char *make_machine(const char *const files[][2])
{
	char *dir = scratch_new(), path[512];
	struct tw_err err = { 0 };

	for (size_t i = 0; files[i][0] != NULL; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i][0]);
		*strrchr(path, '/') = '\0';
		assert_int_equal(tw_dir_make(path, &err), 0);
		snprintf(path, sizeof(path), "%s/%s", dir, files[i][0]);
		assert_int_equal(
			tw_file_create(path, files[i][1], strlen(files[i][1]), &err), 0);
	}
	return dir;
}

static void missing_files_leave_attributes_unknown(void **state)
{
	static const char *const files[][2] = {
		{ "proc/meminfo", "MemFree: 1 kB\nMemTotal:\t2097152 kB\n" },
		{ "proc/cpuinfo", "vendor_id" },
		{ CPU_DIR "cpu0/online", "1\n" },
		{ CPU_DIR "cpufreq/x", "1\n" },
		{ CPU_DIR "present", "0\n" },
		{ NULL, NULL },
	};
	char *dir = make_machine(files);
	struct tw_machine_spec s = { .chips = 7 };
	struct tw_err err = { 0 };

	(void)state;
	if (discover(dir, &s, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(s.vendor, "");
	assert_string_equal(s.processor, "");
	assert_int_equal(s.cores, 1);
	assert_int_equal(s.chips, 0);
	assert_int_equal(s.memory_gib, 2);
	assert_int_equal(s.frequency_mhz, 0);
	assert_int_equal(s.threads_per_core, 0);
	scratch_free(dir);
}

static void counts_without_sysfs_are_those_of_cpuinfo(void **state)
{
	static const char *const files[][2] = {
		{ "proc/cpuinfo",
		  "processor\t: 0\nphysical id\t: 0\nsiblings\t: 2\ncpu cores\t: 1\n\n"
		  "processor\t: 1\nphysical id\t: 0\nsiblings\t: 2\ncpu cores\t: 1\n\n"
		  "processor\t: 2\nphysical id\t: 3\nsiblings\t: 2\ncpu cores\t: 1\n\n"
		  "processor\t: 3\nphysical id\t: 3\nsiblings\t: 2\ncpu cores\t: 0\n"
		  "Processor\t: ARMv7\nphysical id\t: 64\n" },
		{ NULL, NULL },
	};
	char *dir = make_machine(files);
	struct tw_machine_spec s = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	if (discover(dir, &s, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(s.cores, 4);
	assert_int_equal(s.chips, 2);
	assert_int_equal(s.threads_per_core, 2);
	scratch_free(dir);
}

/* A guest sees its hypervisor's model, whose name lacks the generation. */
static void a_virtual_model_keeps_its_generation(void **state)
{
	static const char *const cases[][2] = {
		{ "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 85\nstepping : 4\n"
		  "model name : Intel Xeon Processor (Skylake, IBRS, no TSX)\n",
		  "intel_xeon_skylake_sp" },
		{ "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 143\n"
		  "model name : Intel Xeon Processor (SapphireRapids)\n",
		  "intel_xeon_sapphire_rapids" },
		{ "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 60\n"
		  "model name : Intel Core Processor (Haswell, no TSX)\n",
		  "intel_core_haswell_ep" },
		{ "vendor_id : AuthenticAMD\ncpu family : 25\nmodel : 17\n"
		  "model name : AMD EPYC Processor\n",
		  "amd_epyc_genoa" },
		{ "vendor_id : AuthenticAMD\ncpu family : 25\nmodel : 1\n"
		  "model name : AMD EPYC-Milan Processor\n",
		  "amd_epyc_milan" },
		{ "vendor_id : AuthenticAMD\ncpu family : 25\nmodel : 1\n"
		  "model name : AMD EPYC-Milan-v2 Processor\n",
		  "amd_epyc_milan_v2" },
		{ "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 85\nstepping : 7\n"
		  "model name : Intel(R) Xeon(R) CPU @ 2.80GHz\n",
		  "intel_xeon_cascade_lake_sp" },
		{ "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 85\nstepping : 4\n"
		  "model name : DO-Regular\n",
		  "intel_do_regular_skylake_sp" },
		{ "vendor_id : AuthenticAMD\ncpu family : 25\nmodel : 1\n"
		  "model name : AMD EPYC 7R13 Processor\n",
		  "amd_epyc_7r13" },
		{ "vendor_id : GenuineIntel\ncpu family : 15\nmodel : 6\n"
		  "model name : Common KVM processor\n",
		  "common_kvm" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const char *const files[][2] = { { "proc/cpuinfo", cases[i][0] },
						 { NULL, NULL } };
		char *dir = make_machine(files);
		struct tw_machine_spec s = { 0 };
		struct tw_err err = { 0 };

		if (discover(dir, &s, &err) < 0)
			fail_msg("%s", err.text);
		assert_string_equal(s.processor, cases[i][1]);
		scratch_free(dir);
	}
}

#define ARM_PART(part) "processor : 0\nCPU implementer : 0x41\nCPU part : " part "\n"

/* A guest prints the name of Arm's core only. */
static void a_processor_of_a_cloud_is_known_by_dmi(void **state)
{
	static const char *const cases[][4] = {
		{ "sys_vendor", "Amazon EC2\n", ARM_PART("0xd4f"), "aws_graviton4" },
		{ "sys_vendor", "Google\n", ARM_PART("0xd4f"), "google_axion" },
		{ "sys_vendor", "Microsoft Corporation\n", ARM_PART("0xd49"),
		  "cobalt_100" },
		{ "chassis_asset_tag", "OracleCloud.com\n", ARM_PART("0xd0c"),
		  "ampere_altra" },
		{ "sys_vendor", "QEMU\n", ARM_PART("0xd0c"), "neoverse_n1" },
		{ "sys_vendor", "Amazon EC2\n",
		  "processor : 0\nCPU implementer : 0xc0\nCPU part : 0xac3\n",
		  "ampere_1" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		char file[64];
		const char *const files[][2] = { { "proc/cpuinfo", cases[i][2] },
						 { file, cases[i][1] },
						 { NULL, NULL } };
		struct tw_machine_spec s = { 0 };
		struct tw_err err = { 0 };
		char *dir;

		snprintf(file, sizeof(file), "sys/class/dmi/id/%s", cases[i][0]);
		dir = make_machine(files);
		if (discover(dir, &s, &err) < 0)
			fail_msg("%s", err.text);
		assert_string_equal(s.processor, cases[i][3]);
		scratch_free(dir);
	}
}

static void a_mainframe_has_a_number_of_cpus(void **state)
{
	static const char text[] =
		"vendor_id       : IBM/S390\n# processors    : 4\n"
		"processor 0: version = FF,  identification = 0133E8,  machine = 3931\n"
		"processor 1: version = FF,  identification = 0133E8,  machine = 3931\n";
	struct tw_cpuinfo info;

	(void)state;
	tw_cpuinfo_parse(text, sizeof(text) - 1, &info);
	assert_int_equal(info.cpus, 4);
	assert_string_equal(info.processor, "ibm_3931");
}

static void a_machine_without_attributes_is_not_found(void **state)
{
	static const char *const files[][2] = { { NULL, NULL } };
	char *dir = make_machine(files);
	struct tw_machine_spec s = { .cores = 7 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(discover(dir, &s, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_non_null(strstr(err.text, "have no file that describes the machine"));
	assert_int_equal(s.cores, 7);
	scratch_free(dir);
}

static void a_malformed_file_is_named(void **state)
{
	static const struct {
		const char *name, *text, *want;
		enum tw_code code;
	} cases[] = {
		{ CPU_DIR "cpu0/topology/physical_package_id", "x\n",
		  "/sys/devices/system/cpu/cpu0/topology/physical_package_id': ",
		  TW_INVALID },
		{ CPU_DIR "cpu0/topology/thread_siblings_list", "1-0\n",
		  "cpu0/topology/thread_siblings_list': '1-0' is not a list of CPUs",
		  TW_PARSE },
		{ CPU_DIR "cpu0/cpufreq/cpuinfo_max_freq", "1e9\n",
		  "cpu0/cpufreq/cpuinfo_max_freq': ", TW_INVALID },
		{ CPU_DIR "cpu0/cpufreq/cpuinfo_max_freq", "9999999999\n",
		  "cpu0/cpufreq/cpuinfo_max_freq': ", TW_INVALID },
		{ "proc/meminfo", "MemTotal: many kB\n",
		  "/proc/meminfo': no line 'MemTotal: N kB'", TW_PARSE },
		{ "proc/meminfo", "MemTotal: 7 pages\n",
		  "/proc/meminfo': no line 'MemTotal: N kB'", TW_PARSE },
		{ "proc/meminfo", "xMemTotal: 7 kB\n",
		  "/proc/meminfo': no line 'MemTotal: N kB'", TW_PARSE },
		{ "proc/cpuinfo/x", "", "cpuinfo' is not a regular file", TW_INVALID },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const char *const files[][2] = {
			{ CPU_DIR "present", "0\n" },
			{ cases[i].name, cases[i].text },
			{ NULL, NULL },
		};
		char *dir = make_machine(files);
		struct tw_machine_spec s = { .cores = 7 };
		struct tw_err err = { 0 };

		assert_int_equal(discover(dir, &s, &err), -1);
		if (strstr(err.text, cases[i].want) == NULL)
			fail_msg("'%s' has no '%s'", err.text, cases[i].want);
		assert_int_equal(err.code, cases[i].code);
		assert_int_equal(s.cores, 7);
		scratch_free(dir);
	}
}

/* ---- texts of the kernel and the firmware ---- */

static void cpuinfo_takes_any_bytes(void **state)
{
	static const struct {
		const char *text, *vendor, *processor;
		uint32_t mhz;
	} cases[] = {
		{ "", "", "", 0 },
		{ "model name", "", "", 0 },
		{ ":::\n\n:\n", "", "", 0 },
		{ "model name : Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz", "",
		  "intel_xeon_gold_6248r", 0 },
		{ "cpu MHz : 800.1\ncpu MHz : 3449.9\ncpu MHz : nan\ncpu MHz : -1\n", "",
		  "", 3400 },
		{ "cpu MHz : 1e300\n", "", "", 0 },
		{ "processor : 0\ncpu : POWER9, altivec supported\nclock : "
		  "3783.000000MHz\n",
		  "", "power9", 3800 },
		{ "CPU Family : Loongson-64bit\nModel Name : Loongson-3C6000/D\n"
		  "CPU MHz : 2100.00\n",
		  "loongson", "loongson_3c6000_d", 2100 },
		{ "vendor_id : IBM/S390\nprocessor 0: version = FF,  identification = "
		  "13C7B7,  machine = 2964\ncpu MHz dynamic : 5000\n",
		  "ibm_s390", "ibm_2964", 5000 },
		{ "processor 0: machine = ", "", "", 0 },
		{ "processor 0: machine = 0123456789abcdef", "", "ibm_01234567", 0 },
		{ "uarch : sifive,u74-mc\n", "sifive", "sifive_u74_mc", 0 },
		{ "CPU implementer : 0x70\nCPU part : 0x662\n", "phytium",
		  "phytium_ft_2000+", 0 },
		/* Small and big cores. */
		{ "CPU implementer : 0x41\nCPU part : 0xd03\nCPU part : 0xd08\n"
		  "CPU part : 0xd03\n",
		  "arm", "cortex_a72", 0 },
		{ "CPU implementer : 0x41\nCPU part : 0xd08\n", "arm", "cortex_a72", 0 },
		{ "CPU implementer : 0x41\nCPU part : 0xfffffffff\n", "arm", "", 0 },
		{ "CPU implementer : 41\nCPU part : 0xG08\n", "", "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const size_t len = strlen(cases[i].text);
		/* The sanitizer detects reads behind the buffer. */
		char *exact = malloc(len > 0 ? len : 1);
		struct tw_cpuinfo info;

		assert_non_null(exact);
		memcpy(exact, cases[i].text, len);
		tw_cpuinfo_parse(exact, len, &info);
		assert_string_equal(info.vendor, cases[i].vendor);
		assert_string_equal(info.processor, cases[i].processor);
		assert_int_equal(info.frequency_mhz, cases[i].mhz);
		free(exact);
	}
}

static void strings_of_a_firmware_table_are_bounds_checked(void **state)
{
	/* Type 4, 17 bytes long, vendor is string 1, version string 2. */
	char table[] = "\4\21\0\0\0\0\0\1\0\0\0\0\0\0\0\0\2Maker\0Model\0";
	const size_t len = sizeof(table);
	struct tw_smbios_processor p;

	(void)state;
	assert_true(tw_smbios_processor_parse(table, len, &p));
	assert_int_equal(p.vendor_len, 5);
	assert_memory_equal(p.vendor, "Maker", 5);
	assert_int_equal(p.version_len, 5);
	assert_memory_equal(p.version, "Model", 5);
	/* A string that is cut off or missing has length 0. */
	assert_true(tw_smbios_processor_parse(table, len - 2, &p));
	assert_int_equal(p.vendor_len, 5);
	assert_int_equal(p.version_len, 0);
	table[0x10] = 9;
	assert_true(tw_smbios_processor_parse(table, len, &p));
	assert_int_equal(p.version_len, 0);
	assert_false(tw_smbios_processor_parse(table, 16, &p));
	table[1] = 16;
	assert_false(tw_smbios_processor_parse(table, len, &p));
	table[1] = 127;
	assert_false(tw_smbios_processor_parse(table, len, &p));
	table[0] = 1;
	assert_false(tw_smbios_processor_parse(table, len, &p));
}

static void every_failed_allocation_is_reported(void **state)
{
	int failures = 0;

	(void)state;
	for (int n = 1;; n++) {
		struct tw_machine_spec s = { .cores = 7 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = discover(MACHINES "arm64-unknown", &s, &err);
		if (!fail_alloc_told(rc, &err)) {
			assert_int_equal(s.cores, 1);
			break;
		}
		assert_int_equal(s.cores, 7);
		failures++;
	}
	assert_true(failures >= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cores_are_counted_from_the_list_of_cpus),
		cmocka_unit_test(a_malformed_list_of_cpus_is_rejected),
		cmocka_unit_test(a_machine_without_the_file_is_not_found),
		cmocka_unit_test(recorded_machines_have_the_expected_specs),
		cmocka_unit_test(recorded_machines_have_the_expected_processors),
		cmocka_unit_test(cpuinfo_has_the_signature),
		cmocka_unit_test(this_machine_has_a_spec),
		cmocka_unit_test(missing_files_leave_attributes_unknown),
		cmocka_unit_test(counts_without_sysfs_are_those_of_cpuinfo),
		cmocka_unit_test(a_virtual_model_keeps_its_generation),
		cmocka_unit_test(a_processor_of_a_cloud_is_known_by_dmi),
		cmocka_unit_test(a_mainframe_has_a_number_of_cpus),
		cmocka_unit_test(a_machine_without_attributes_is_not_found),
		cmocka_unit_test(a_malformed_file_is_named),
		cmocka_unit_test(cpuinfo_takes_any_bytes),
		cmocka_unit_test(strings_of_a_firmware_table_are_bounds_checked),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
