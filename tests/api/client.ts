// SPDX-License-Identifier: Apache-2.0
//
// Clients that openapi-typescript made of the daemons' descriptions, at work. For
// tests/integration/test_api.py, which makes server.d.ts, trainer.d.ts and collector.d.ts, checks
// the types of this file against them, and runs it:
//
//   node client.js SERVER-URL TRAINER-URL COLLECTOR-URL
//
// Prints a JSON object of what the daemons answered.
import createClient from 'openapi-fetch';
import type { paths as Collector } from './collector';
import type { paths as Server } from './server';
import type { paths as Trainer } from './trainer';

declare const process: { argv: string[]; stdout: { write(text: string): void } };

const [serverUrl, trainerUrl, collectorUrl] = process.argv.slice(2);
const server = createClient<Server>({ baseUrl: serverUrl });
const trainer = createClient<Trainer>({ baseUrl: trainerUrl });
const collector = createClient<Collector>({ baseUrl: collectorUrl });

/** The data of an answer, or an end with its problem. */
function got<T>(answer: { data?: T; error?: unknown; response: Response }): T {
	if (answer.data === undefined)
		throw new Error(`${answer.response.url}: ${answer.response.status}: ${JSON.stringify(answer.error)}`);
	return answer.data;
}

const models = got(await server.GET('/api/v1/models', { params: { query: { 'energy-source': 'rapl-sysfs', 'output-type': 'AbsPower', limit: 1 } } }));
const [first] = models.models;
const place = {
	pipeline: first.pipeline, source: first.source, output: first.output_type,
	group: first.feature_group, model: first.model_name,
};
const curve = got(await server.GET('/api/v1/models/{pipeline}/{source}/{output}/{group}/{model}/curve', { params: { path: place } }));
const weights = got(await server.POST('/model', {
	body: { metrics: first.features ?? [], output_type: 'AbsPower', source: first.source, weight: true },
}));
const refused = await server.POST('/model', { body: { metrics: [], output_type: 'AbsPower' } });
const jobs = got(await trainer.GET('/api/v1/jobs'));
const noJob = await trainer.DELETE('/api/v1/jobs/{job}', { params: { path: { job: '0' } } });
const power = got(await collector.GET('/api/v1/power', { params: { query: { level: 'node' } } }));
const noAgents = await collector.GET('/api/v1/agents');

process.stdout.write(JSON.stringify({
	total: models.total, name: first.model_name, loads: curve.load.length, weights: Object.keys(weights as object),
	refused: refused.error?.detail, jobs: jobs.jobs.length, no_job: noJob.error?.status,
	node: power.node_name, level: power.workloads[0].level, no_agents: noAgents.error?.detail,
}));
