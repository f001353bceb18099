# SPDX-License-Identifier: Apache-2.0
server-src += server/api_json.c
server-src += server/compat.c
server-src += server/member_value.c
server-src += server/model_metrics.c
server-src += server/model_request.c
server-src += server/models.c
server-src += server/old_names.c
server-src += server/output_name.c
server-src += server/pull.c
server-src += server/pull_metrics.c
server-src += server/pull_record.c
server-src += server/pull_source.c
server-src += server/pull_take.c
server-src += server/plots.c
server-src += server/query.c
server-src += server/route_api_lists.c
server-src += server/route_api_plots.c
server-src += server/route_api_show.c
server-src += server/route_best_models.c
server-src += server/route_health.c
server-src += server/route_metrics.c
server-src += server/route_model.c
server-src += server/route_openapi.c
server-src += server/route_reload.c
server-src += server/route_pipeline_zip.c
server-src += server/route_publish.c
server-src += server/routes.c
server-src += server/send_foreign.c
server-src += server/send_zip.c
server-src += server/settings.c
server-src += server/show.c
server-src += server/uploads.c
programs += tw-server
tw-server-src := server/main.c
tw-server-libs := $(JANSSON_LIBS) $(ZIP_LIBS) $(MHD_LIBS) $(SODIUM_LIBS)

# The description of the routes is a part of the program: its bytes as numbers.
$(O)/gen/openapi.inc: server/openapi.json
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)od -An -v -tu1 $< | sed 's/  */,/g; s/^,//; s/$$/,/' >$@
$(O)/server/route_openapi.o: $(O)/gen/openapi.inc
