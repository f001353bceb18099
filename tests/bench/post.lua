-- SPDX-License-Identifier: Apache-2.0
-- wrk: POST to /model, or a second argument, with the bodies of a file, one a line, in turn. Answers must be 200.
local bodies, next_body = {}, 0

function init(args)
  for line in io.lines(args[1]) do
    bodies[#bodies + 1] = wrk.format("POST", args[2] or "/model",
      { ["Content-Type"] = "application/json", ["Host"] = "bench" }, line)
  end
end

function request()
  next_body = next_body % #bodies + 1
  return bodies[next_body]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format("RESULT %d %d %d %d\n", summary.requests, summary.duration,
    latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout))
end
