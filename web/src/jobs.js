// SPDX-License-Identifier: Apache-2.0
// The jobs of a trainer: the queue, progress, reports, and two trainings side by side; units of work.
import {
	ask, duration, Header, html, number, Problem, render, Sure, useCallback, useEffect, usePolling, useState, watts,
} from './library.js';
import { certificate, Errors, Quality } from './report.js';
import { Units } from './units.js';

const BUSY_MS = 1000, IDLE_MS = 5000;
const ENDED = ['done', 'failed', 'cancelled', 'lost'];

const time = (text) => (text ? new Date(text).toLocaleString('en-GB', { dateStyle: 'short', timeStyle: 'medium' }) : '–');
const seconds = (from, to) => (from ? (new Date(to ?? Date.now()) - new Date(from)) / 1000 : null);

function State({ job }) {
	if (job.state !== 'running')
		return html`<span class=${`state ${job.state}`}>${job.state}</span>
			${job.error ? html`<br /><span class="detail wraps">${job.error}</span>` : ''}`;
	const share = Math.round((job.progress ?? 0) * 100);
	return html`<progress max="100" value=${share} aria-label=${`Progress of ${job.pipeline}`}></progress> ${share} %
		<br /><span class="detail">${job.stage ?? 'starting'}${job.remaining_s !== undefined ? `, about ${duration(job.remaining_s)} left` : ''}</span>`;
}

function Job({ job, onCancel, onReport, report, compared, onCompare, full }) {
	const name = `of ${job.pipeline}, ${time(job.created)}`;
	return html`<tr>
		<td>${job.state === 'done' ? html`<label class="tick"><input type="checkbox" checked=${compared} disabled=${full && !compared}
			onChange=${() => onCompare(job.id)} aria-label=${`Compare the training ${name}`} /></label>` : ''}</td>
		<td class="wraps"><b>${job.pipeline}</b><span class="wide"><br /><span class="detail">${job.id}</span></span></td>
		<td><${State} job=${job} /></td>
		<td class="wide">${time(job.created)}</td>
		<td class="number wide">${duration(seconds(job.started, job.ended))}</td>
		<td class="number wide">${job.models ?? '–'}${job.published ? html`<br /><span class="detail">published</span>` : ''}</td>
		<td><div class="actions">
			${ENDED.includes(job.state) ? '' : html`<${Sure} label="Cancel" sure="Cancel now" name=${`the training ${name}`} onClick=${() => onCancel(job.id)} />`}
			${job.state === 'done' ? html`<button type="button" aria-pressed=${report === job.id} onClick=${() => onReport(job.id)}
				aria-label=${`Report ${name}`}>Report</button>
				<a href=${`api/v1/jobs/${encodeURIComponent(job.id)}/pipeline`} download aria-label=${`Pipeline ${name}, zip`}>zip</a>` : ''}
		</div></td>
	</tr>`;
}

const placeOf = (m) => [m.energy_source, m.output_type, m.feature_group, m.model_name].join(' · ');
const fails = (m) => (m.certificate_refused ? [m.certificate_refused]
	: certificate(m).filter((t) => !t.holds).map((t) => `not so: ${t.text}`));

function useReport(id) {
	const [state, setState] = useState({});
	useEffect(() => {
		let current = true;
		setState({});
		if (id)
			ask(`api/v1/jobs/${encodeURIComponent(id)}/report`).then(
				(report) => current && setState({ report }), (error) => current && setState({ error }));
		return () => {
			current = false;
		};
	}, [id]);
	return state;
}

function Report({ job }) {
	const { report, error } = useReport(job.id);
	return html`<section class="card" aria-labelledby="report"><h2 id="report">Report of ${job.pipeline}</h2>
		<${Problem} text=${error?.message} />
		${report ? html`<h3>Quality of the recordings</h3><${Quality} list=${report.data_quality} />
			<h3>Models</h3>${report.models.map((m) => html`<details key=${placeOf(m)}><summary>${placeOf(m)}:
				${watts(m.mae)} W ${fails(m).map((f) => html` <span key=${f} class="no">${f}</span>`)}</summary><${Errors} metadata=${m} /></details>`)}`
			: error ? '' : html`<p>Loading.</p>`}
	</section>`;
}

/** Models of the same place in two trainings. A smaller error is better. */
function Comparison({ a, b }) {
	const first = useReport(a.id), second = useReport(b.id);
	const error = first.error ?? second.error;
	const title = html`<h2 id="compare">${a.pipeline}, ${time(a.created)} and ${b.pipeline}, ${time(b.created)}</h2>`;
	if (!first.report || !second.report)
		return html`<section class="card" aria-labelledby="compare">${title}<${Problem} text=${error?.message} />${error ? '' : html`<p>Loading.</p>`}</section>`;
	const of = (report) => new Map(report.models.map((m) => [placeOf(m), m]));
	const left = of(first.report), right = of(second.report);
	const places = [...new Set([...left.keys(), ...right.keys()])].sort();
	return html`<section class="card" aria-labelledby="compare">${title}
		<div class="box" tabindex="0" role="region" aria-label="Comparison of models"><table>
			<thead><tr><th scope="col">model</th><th scope="col" class="number">first W</th>
				<th scope="col" class="number">second W</th><th scope="col" class="number">change</th></tr></thead>
			<tbody>${places.map((place) => {
				const x = left.get(place)?.mae, y = right.get(place)?.mae;
				const change = x > 0 && typeof y === 'number' ? 100 * (y - x) / x : null;
				return html`<tr key=${place}><th scope="row" class="wraps">${place.split(' · ').at(-1)}<br /><span class="detail">${place.split(' · ').slice(0, -1).join(' · ')}</span></th><td class="number">${watts(x)}</td>
					<td class="number">${watts(y)}</td><td class=${`number ${change < 0 ? 'better' : change > 0 ? 'worse' : ''}`}>${
						change === null ? '–' : `${change > 0 ? '+' : ''}${number(change, 1)} %`}</td></tr>`;
			})}</tbody></table></div>
		<p class="sum">Mean errors on rows that the model did not see. Errors of different recordings compare the recordings, too.</p>
		<div class="columns"><div><h3>Recordings of the first</h3><${Quality} list=${first.report.data_quality} /></div>
			<div><h3>Recordings of the second</h3><${Quality} list=${second.report.data_quality} /></div></div>
	</section>`;
}

function Page() {
	const [jobs, setJobs] = useState(null);
	const [error, setError] = useState(null);
	const [refused, setRefused] = useState(null);
	const [report, setReport] = useState(null);
	const [compared, setCompared] = useState([]);

	const load = useCallback(async () => {
		const answer = await ask('api/v1/jobs');
		setJobs(answer.jobs);
		return answer.jobs.some((j) => !ENDED.includes(j.state)) ? BUSY_MS : IDLE_MS;
	}, []);
	usePolling(load, setError);

	const cancel = (id) => ask(`api/v1/jobs/${encodeURIComponent(id)}`, { method: 'DELETE' })
		.then(() => setRefused(null), setRefused).then(load).catch(setError);
	const compare = (id) => setCompared(compared.includes(id) ? compared.filter((x) => x !== id) : [...compared, id].slice(-2));
	if (!jobs)
		return html`<${Header} title="Jobs" /><main><${Problem} text=${error?.message} />${error ? '' : html`<p>Loading.</p>`}</main>`;
	const find = (id) => jobs.find((j) => j.id === id);
	const [a, b] = compared.map(find);
	const count = (state) => jobs.filter((j) => j.state === state).length;
	return html`<${Header} title="Jobs"><span class=${error ? 'stale-mark' : ''}>${error ? 'stale'
			: `${count('running')} running, ${count('waiting')} waiting`}</span><//>
		<main><${Problem} text=${error ? `${error.message}. The list below is old.` : refused?.message} />
			<section aria-labelledby="jobs"><div class="tools"><h2 id="jobs">Jobs</h2>
				<span class="count">${jobs.length} kept; tick two that are done to compare them</span></div>
			<div class=${`box ${error ? 'stale' : ''}`} tabindex="0" role="region" aria-label="List of jobs"><table>
				<thead><tr><th scope="col"><span class="hidden">compare</span></th><th scope="col">Pipeline</th><th scope="col">State</th>
					<th scope="col" class="wide">Created</th><th scope="col" class="number wide">Took</th>
					<th scope="col" class="number wide">Models</th><th scope="col"><span class="hidden">actions</span></th></tr></thead>
				<tbody>${jobs.map((job) => html`<${Job} key=${job.id} job=${job} onCancel=${cancel} report=${report}
					onReport=${(id) => setReport(report === id ? null : id)} compared=${compared.includes(job.id)}
					onCompare=${compare} full=${compared.length === 2} />`)}</tbody></table>
				${jobs.length === 0 ? html`<p class="none">No training yet: tallywatt train --url, or POST api/v1/train.</p>` : ''}</div>
			</section>
			${a && b ? html`<${Comparison} key=${a.id + b.id} a=${a} b=${b} />` : ''}
			${report && find(report) ? html`<${Report} key=${report} job=${find(report)} />` : ''}
			<${Units} />
		</main>`;
}

render(html`<${Page} />`, document.getElementById('page'));
