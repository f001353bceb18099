# SPDX-License-Identifier: Apache-2.0
# The tables of profiler/data as rows of C: text in quotes, 0 for an empty field.
cpu-tables := $(patsubst profiler/data/%.csv,$(O)/gen/profiler/%.inc,\
	$(wildcard profiler/data/*.csv))
$(O)/gen/profiler/%.inc: profiler/data/%.csv
	$(call say,TABLE,$@)
	@mkdir -p $(@D)
	$(Q)awk -F, '/^#/ { next } !header++ { next } { \
		row = ""; \
		for (i = 1; i <= NF; i++) \
			row = row ($$i == "" ? "0" : $$i ~ /^(0x[0-9a-f]+|[0-9]+)$$/ ? \
				$$i : "\"" $$i "\"") ", "; \
		print "{ " row "}," }' $< >$@

$(O)/profiler/cpu_identity.o: $(cpu-tables)
