# SPDX-License-Identifier: Apache-2.0
trainer-src += trainer/cmd_estimate.c
trainer-src += trainer/cmd_export.c
trainer-src += trainer/cmd_extract.c
trainer-src += trainer/cmd_isolate.c
trainer-src += trainer/cmd_models.c
trainer-src += trainer/cmd_spec.c
trainer-src += trainer/cmd_table.c
trainer-src += trainer/cmd_train.c
trainer-src += trainer/cmd_trainers.c
trainer-src += trainer/counters.c
trainer-src += trainer/curvefit.c
trainer-src += trainer/design.c
trainer-src += trainer/export.c
trainer-src += trainer/export_report.c
trainer-src += trainer/extract.c
trainer-src += trainer/extract_power.c
trainer-src += trainer/extract_rates.c
trainer-src += trainer/extract_series.c
trainer-src += trainer/fit_exponential.c
trainer-src += trainer/fit_knn.c
trainer-src += trainer/fit_linear.c
trainer-src += trainer/fit_logarithmic.c
trainer-src += trainer/fit_logistic.c
trainer-src += trainer/fit_polynomial.c
trainer-src += trainer/fit_ridge.c
trainer-src += trainer/folds.c
trainer-src += trainer/linear_text.c
trainer-src += trainer/machines.c
trainer-src += trainer/names.c
trainer-src += trainer/packed.c
trainer-src += trainer/points_text.c
trainer-src += trainer/prom.c
trainer-src += trainer/prom_builder.c
trainer-src += trainer/registry.c
trainer-src += trainer/ridge.c
trainer-src += trainer/samples.c
trainer-src += trainer/schema.c
trainer-src += trainer/schema_kepler.c
trainer-src += trainer/schema_kepler_legacy.c
trainer-src += trainer/schema_node_exporter.c
trainer-src += trainer/score.c
trainer-src += trainer/service.c
trainer-src += trainer/track.c
trainer-src += trainer/train.c
trainer-src += trainer/train_arguments.c
trainer-src += trainer/train_data.c
trainer-src += trainer/train_flags.c
trainer-src += trainer/train_input.c
trainer-src += trainer/train_machines.c
trainer-src += trainer/train_model.c
trainer-src += trainer/train_pack.c
trainer-src += trainer/train_report.c
trainer-src += trainer/train_request.c
trainer-src += trainer/train_scores.c
trainer-src += trainer/train_unit.c
trainer-src += trainer/validate.c
trainer-src += trainer/workloads.c
ifeq ($(XGBOOST),1)
trainer-src += trainer/boost.c trainer/fit_gradient_boosting.c trainer/fit_xgboost.c
endif
ifeq ($(LIBSVM),1)
trainer-src += trainer/fit_svr.c
endif
programs += tw-trainer
tw-trainer-src := trainer/main.c
tw-trainer-libs := $(JANSSON_LIBS) $(ZIP_LIBS) $(MHD_LIBS) $(GSL_LIBS) $(XGBOOST_LIBS) \
	$(LIBSVM_LIBS)
programs += tallywatt
tallywatt-src := trainer/tallywatt.c
tallywatt-libs := $(JANSSON_LIBS) $(ZIP_LIBS) $(MHD_LIBS) $(CURL_LIBS) $(GSL_LIBS) \
	$(XGBOOST_LIBS) $(LIBSVM_LIBS)
