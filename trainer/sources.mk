# SPDX-License-Identifier: Apache-2.0
ifneq ($(XGBOOST),1)
left-out += trainer/fit/fit_boost.c
endif
ifneq ($(FLEET),1)
left-out += $(wildcard trainer/shards/*.c)
endif

programs += tw-trainer
tw-trainer-src := trainer/main.c
tw-trainer-libs := $(JANSSON_LIBS) $(ZIP_LIBS) $(MHD_LIBS) $(YAML_LIBS) $(GSL_LIBS) \
	$(XGBOOST_LIBS) $(LIBSVM_LIBS) $(SODIUM_LIBS) $(CURL_LIBS) $(SQLITE_LIBS)

# Loops over matrices of some hundred rows: vectors make them twice as fast.
$(O)/trainer/machines/process.o $(O)/model-db/prior/cholesky.o: tw-cflags += -O3

$(O)/trainer/service/train_service.o: $(O)/gen/trainer/service/openapi.inc
