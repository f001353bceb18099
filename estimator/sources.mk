# SPDX-License-Identifier: Apache-2.0
estimator-src += estimator/answer.c
estimator-src += estimator/client.c
estimator-src += estimator/clock.c
estimator-src += estimator/daemon.c
estimator-src += estimator/fetch.c
estimator-src += estimator/fetch_pass.c
estimator-src += estimator/fetch_serve.c
estimator-src += estimator/listen.c
estimator-src += estimator/lists.c
estimator-src += estimator/models.c
estimator-src += estimator/models_db.c
estimator-src += estimator/models_key.c
estimator-src += estimator/models_server.c
estimator-src += estimator/points.c
estimator-src += estimator/power_model.c
estimator-src += estimator/predict_curvefit.c
estimator-src += estimator/predict_knn.c
estimator-src += estimator/predict_linear.c
estimator-src += estimator/predict_polynomial.c
estimator-src += estimator/predict_svr.c
estimator-src += estimator/predict_xgboost.c
estimator-src += estimator/registry.c
estimator-src += estimator/request.c
estimator-src += estimator/request_values.c
estimator-src += estimator/session.c
estimator-src += estimator/tallywatt.c
estimator-src += estimator/tree.c
estimator-src += estimator/tree_predict.c
estimator-src += estimator/xgboost_text.c

programs += tw-estimator
tw-estimator-src := estimator/main.c
tw-estimator-libs := $(JANSSON_LIBS) $(ZLIB_LIBS)

helpers += tw-fetch
tw-fetch-src := estimator/fetch_main.c
tw-fetch-libs := $(JANSSON_LIBS) $(CURL_LIBS)
