-- SPDX-License-Identifier: Apache-2.0
function done(summary, latency)
  local e = summary.errors
  io.write(string.format("RESULT %d %d %d %d\n", summary.requests, summary.duration,
    latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout))
end
