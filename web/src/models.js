// SPDX-License-Identifier: Apache-2.0
// The models of a server: the catalogue, a model's card, and what a machine would get.
import {
	ask, axis, Chart, Header, html, number, Problem, render, Sorter, useEffect, useMemo, useState, watts,
} from './library.js';
import { Certificate, Errors, Quality } from './report.js';

const PAGE = 1000;
const SHOWN = 6; // candidates
const SPEC = [
	['processor', 'Processor', 'text', 'intel_xeon_gold_6230'], ['cores', 'Logical CPUs', 'number', '32'],
	['chips', 'Chips', 'number', '2'], ['memory', 'Memory, GiB', 'number', '128'],
	['frequency', 'Frequency, MHz', 'number', '2100'],
];
const MATCHES = {
	node_type: 'of the same node type', machine_spec: 'of the same machine', similar: 'of a similar machine',
	any: 'of another machine, as none is similar', prior: 'the prior, from machines that others have measured',
};

function machine(spec) {
	if (!spec || Object.keys(spec).length === 0)
		return 'unknown';
	const { processor, cores, chips, memory, frequency } = spec;
	return [processor, cores && `${cores} CPUs`, chips && `${chips} chip${chips > 1 ? 's' : ''}`,
		memory && `${memory} GiB`, frequency && `${frequency} MHz`].filter(Boolean).join(', ');
}

/* ---- the catalogue ---- */

const compare = (key) => (a, b) => (a[key] ?? Infinity) - (b[key] ?? Infinity) || a.preference - b.preference;
const compareText = (a, b) => (a.text < b.text ? 1 : a.text > b.text ? -1 : 0);

function Catalogue({ models, chosen }) {
	const [filter, setFilter] = useState({ text: '', output: '', source: '', group: '' });
	const [order, setOrder] = useState({ by: 'preference', down: false });
	const set = (key) => (e) => setFilter({ ...filter, [key]: e.target.value });
	const values = (key) => [...new Set(models.map((m) => m[key]))].sort();
	const rows = useMemo(() => {
		const text = filter.text.trim().toLowerCase();
		const by = order.by === 'name' ? compareText : compare(order.by);
		return models.filter((m) => (!filter.output || m.output_type === filter.output) &&
			(!filter.source || m.source === filter.source) && (!filter.group || m.feature_group === filter.group) &&
			m.text.includes(text)).sort((a, b) => (order.down ? by(b, a) : by(a, b)));
	}, [models, filter, order]);
	const select = (key, label) => html`<label>${label}<select value=${filter[key]} onChange=${set(key)}>
		<option value="">all</option>${values({ output: 'output_type', source: 'source', group: 'feature_group' }[key])
			.map((v) => html`<option key=${v} value=${v}>${v}</option>`)}</select></label>`;
	return html`<section aria-labelledby="catalogue">
		<div class="tools"><h2 id="catalogue">Catalogue</h2>
			<span class="count" role="status">${rows.length} of ${models.length} models</span></div>
		<form class="filters" onSubmit=${(e) => e.preventDefault()}>
			<label>Search<input type="search" value=${filter.text} onInput=${set('text')} /></label>
			${select('output', 'Output')}${select('source', 'Energy source')}${select('group', 'Feature group')}
		</form>
		<div class="box list" tabindex="0" role="region" aria-label="Models"><table>
			<thead><tr>
				<${Sorter} by="name" order=${order} onOrder=${setOrder}>Model<//>
				<th scope="col" class="wide">Source</th>
				<${Sorter} by="mae" order=${order} onOrder=${setOrder} class="number">Error W<//>
				<${Sorter} by="mape" order=${order} onOrder=${setOrder} class="number wide">Error %<//>
			</tr></thead>
			<tbody>${rows.map((m) => html`<tr key=${m.url} class=${`link ${m.url === chosen ? 'current' : ''}`}>
				<td><a href=${`#${m.url}`} aria-current=${m.url === chosen ? 'true' : undefined}>${m.model_name}</a>
					<br /><span class="detail wraps">${m.pipeline} · ${m.feature_group} · ${m.output_type}</span></td>
				<td class="wide">${m.source}</td>
				<td class="number">${watts(m.mae)}</td><td class="number wide">${number(m.mape, 1)}</td>
			</tr>`)}</tbody>
		</table>${rows.length === 0 ? html`<p class="none">No model matches.</p>` : ''}</div>
	</section>`;
}

/* ---- one model ---- */

function curveChart(name) {
	return (colour) => ({
		padding: [8, 24, 0, 0],
		scales: { x: { time: false }, y: { range: (u, min, max) => [0, Math.max(max * 1.05, 1)] } },
		axes: [axis(colour, { values: (u, xs) => xs.map((x) => `${Math.round(x * 100)} %`), size: 28 }), axis(colour, { size: 52 })],
		series: [{}, { label: name, stroke: colour('dynamic'), width: 2, points: { show: false } },
			{ stroke: colour('line'), width: 1, points: { show: false } },
			{ stroke: colour('line'), width: 1, points: { show: false } }],
		bands: [{ series: [2, 3], fill: colour('dynamic-soft') }],
	});
}

function Curve({ curve, url }) {
	const names = Object.keys(curve.components).filter((c) => curve.components[c].watts.some((w) => w > 0));
	if (names.length === 0)
		return html`<p>The model predicts no power.</p>`;
	return html`<div class="plots">${names.map((name) => {
		const { watts: w, half_width_watts: half } = curve.components[name];
		const bound = (sign) => w.map((x, i) => (half[i] === null ? null : Math.max(x + sign * half[i], 0)));
		return html`<figure key=${name}><figcaption>${name}, W, at a share of the largest training load</figcaption>
			<${Chart} make=${curveChart(name)} of=${url + name} height=${200}
				data=${[curve.load, w, bound(1), bound(-1)]}
				label=${`${name}: ${watts(w[0])} W at rest, ${watts(w.at(-1))} W at the largest training load`} /></figure>`;
	})}</div><p class="sum">Band: interval of 95 %. Largest load: ${Object.entries(curve.largest).map(([name, x]) =>
		`${name} ${number(x, 0)}`).join(', ')}.</p>`;
}

function Model({ url, onTry }) {
	const [model, setModel] = useState(null);
	const [curve, setCurve] = useState(null);
	const [plots, setPlots] = useState([]);
	const [error, setError] = useState(null);
	useEffect(() => {
		let current = true;
		const take = (path, use, lost) => ask(path).then((v) => current && use(v), (e) => current && lost(e));
		setModel(null);
		setCurve(null);
		setPlots([]);
		setError(null);
		take(url, setModel, setError);
		take(`${url}/curve`, setCurve, (e) => setCurve({ missing: e.message }));
		take(`${url}/plots`, (v) => setPlots(v.plots), () => {});
		return () => {
			current = false;
		};
	}, [url]);
	if (error)
		return html`<${Problem} text=${error.message} />`;
	if (!model)
		return html`<p>Loading.</p>`;
	const m = model.metadata, path = url.replace(/^\//, '');
	return html`<section class="card" aria-labelledby="model">
		<h2 id="model">${model.model_name}</h2>
		<p class="sum">${model.pipeline} · ${model.source} · ${model.output_type} · ${model.feature_group}</p>
		<dl class="facts">
			<dt>predicts</dt><dd>${model.output_type === 'AbsPower' ? 'the power of a machine, idle power included'
				: 'the power of a workload, above idle'}</dd>
			<dt>from</dt><dd>${model.features.join(', ')}</dd>
			<dt>machine</dt><dd>${machine(model.machine_spec)} <button type="button" class="link"
				onClick=${() => onTry(model)}>what would such a machine get?</button></dd>
			<dt>mean error</dt><dd>${watts(model.mae)} W${typeof model.mape === 'number' ? `, ${number(model.mape, 1)} %` : ''}</dd>
			<dt>recorded</dt><dd>${m.data_origin || 'unknown'}${m.data_rows ? `; ${m.data_rows} rows` : ''}</dd>
			<dt>made by</dt><dd>${m.creator || 'unknown'}</dd>
		</dl>
		<h3>Certificate</h3><${Certificate} metadata=${m} />
		<h3>Power against load</h3>
		${curve?.components ? html`<${Curve} curve=${curve} url=${url} />` : html`<p>${curve?.missing || 'Loading.'}</p>`}
		<h3>Errors on rows that it did not see</h3><${Errors} metadata=${m} />
		${plots.length > 0 ? html`<h3>Validation</h3><div class="plots">${plots.map((p) => html`<figure key=${p.url}>
			<figcaption>${p.title}, ${p.component}</figcaption><img loading="lazy" src=${p.url.replace(/^\//, '')}
			alt=${`${p.title} of ${p.component}`} /></figure>`)}</div>` : ''}
		<h3>Quality of the recording</h3><${Quality} list=${m.data_quality} />
		<p class="links"><a href=${`${path}/card`}>model card</a>
			${model.weights ? html`<a href=${`${path}/weights`}>weights</a>` : ''}
			<a href=${`${path}/zip`} download>zip</a></p>
	</section>`;
}

/* ---- what would my machine get? ---- */

function Explanation({ answer }) {
	const c = answer.chosen;
	return html`<div role="status">${c ? html`<p class="answer">It would get <a href=${`#${c.url}`}><b>${c.model_name}</b></a> of ${c.pipeline}: ${MATCHES[c.match] ?? c.match}.</p>
		<dl class="facts"><dt>feature group</dt><dd>${c.feature_group}</dd>
			<dt>mean error</dt><dd>${watts(c.mae)} W on its own machine</dd>
			<dt>certificate</dt><dd class=${c.certificate === 'yes' ? 'yes' : ''}>${c.certificate ?? 'checked at its first use'}</dd>
			${c.similarity !== null ? html`<dt>similarity</dt><dd>${number(c.similarity)} of 1</dd>` : ''}
			${c.uncertainty !== null ? html`<dt>uncertainty</dt><dd>${number(c.uncertainty)} of 1</dd>` : ''}</dl>`
		: html`<p class="no">No model fits: ${answer.error}</p>`}
		${answer.candidates.length > 0 ? html`<h3>Why not another</h3>
			<div class="box" tabindex="0" role="region" aria-label="Candidates"><table>
			<thead><tr><th scope="col">model</th><th scope="col">reason against it</th></tr></thead>
			<tbody>${answer.candidates.slice(0, SHOWN).map((m, i) => html`<tr key=${i}><td>${m.model_name}<br />
				<span class="detail">${m.pipeline} · ${m.feature_group}</span></td><td class="wraps">${m.lost ?? 'chosen'}</td></tr>`)}</tbody></table></div>
			${answer.candidates.length > SHOWN ? html`<p class="sum">and ${answer.candidates.length - SHOWN + answer.left_out} more</p>` : ''}` : ''}
	</div>`;
}

function Explain({ models, tried }) {
	const [fields, setFields] = useState({ output_type: 'AbsPower', source: '', group: '' });
	const [answer, setAnswer] = useState(null);
	const [error, setError] = useState(null);
	const set = (key) => (e) => setFields({ ...fields, [key]: e.target.value });
	const groups = useMemo(() => {
		const features = new Map();
		for (const m of models) {
			const of = features.get(m.feature_group) ?? new Set();
			m.features.forEach((f) => of.add(f));
			features.set(m.feature_group, of);
		}
		return new Map([...features].sort());
	}, [models]);
	const sources = useMemo(() => [...new Set(models.map((m) => m.source))].sort(), [models]);
	const group = fields.group || (groups.has('BPFOnly') ? 'BPFOnly' : [...groups.keys()][0]);
	const source = fields.source || (sources.includes('rapl-sysfs') ? 'rapl-sysfs' : sources[0]);
	useEffect(() => {
		if (!tried)
			return;
		const spec = Object.fromEntries(SPEC.map(([key]) => [key, tried.machine_spec?.[key] ?? '']));
		setFields({ ...spec, output_type: tried.output_type, source: tried.source, group: tried.feature_group });
		setAnswer(null);
		document.getElementById('explain').scrollIntoView({ block: 'nearest' });
		document.getElementById('explain-processor').focus();
	}, [tried]);
	const submit = async (event) => {
		event.preventDefault();
		const spec = {};
		for (const [key, , type] of SPEC)
			if (fields[key])
				spec[key] = type === 'number' ? Number(fields[key]) : fields[key].trim();
		try {
			const got = await ask('model?explain=1', {
				method: 'POST', headers: { 'Content-Type': 'application/json' },
				body: JSON.stringify({
					metrics: [...groups.get(group)], output_type: fields.output_type, source, machine_spec: spec,
					model_classes: [...new Set(models.map((m) => m.model_class))],
				}),
			});
			if (got.chosen)
				got.chosen.url = models.find((m) => m.pipeline === got.chosen.pipeline && m.source === source &&
					m.output_type === fields.output_type && m.feature_group === got.chosen.feature_group &&
					m.model_name === got.chosen.model_name)?.url ?? '';
			setAnswer(got);
			setError(null);
		} catch (e) {
			setAnswer(null);
			setError(e);
		}
	};
	return html`<section class="card" aria-labelledby="explain"><h2 id="explain">What would my machine get?</h2>
		<p class="sum">Empty fields are unknown. On the machine, “tallywatt spec” prints them.</p>
		<form onSubmit=${submit}>
			${SPEC.map(([key, label, type, example]) => html`<label key=${key}>${label}<input id=${`explain-${key}`} type=${type}
				min=${type === 'number' ? '0' : undefined} placeholder=${example} value=${fields[key] ?? ''} onInput=${set(key)} /></label>`)}
			<label>It measures<select value=${group} onChange=${set('group')}>${[...groups].map(([name]) => html`<option
				key=${name} value=${name}>${name}</option>`)}</select></label>
			<label>Power of<select value=${fields.output_type} onChange=${set('output_type')}>
				<option value="AbsPower">the machine</option><option value="DynPower">a workload</option></select></label>
			<label>Energy source<select value=${source} onChange=${set('source')}>${sources.map((s) => html`<option
				key=${s} value=${s}>${s}</option>`)}</select></label>
			<button type="submit" class="main" disabled=${!group}>Explain</button>
		</form>
		${group ? html`<p class="sum">${group}: ${[...groups.get(group)].join(', ')}</p>` : ''}
		<${Problem} text=${error?.message} />
		${answer ? html`<${Explanation} answer=${answer} />` : ''}
	</section>`;
}

/* ---- the page ---- */

async function allModels() {
	const models = [];
	for (let next = 0; next !== null;) {
		const page = await ask(`api/v1/models?limit=${PAGE}&offset=${next}`);
		models.push(...page.models);
		next = page.next;
	}
	for (const m of models)
		m.text = [m.model_name, m.pipeline, m.trainer, m.feature_group, m.source, m.output_type, machine(m.machine_spec)]
			.join(' ').toLowerCase();
	return models;
}

const chosenUrl = () => decodeURIComponent(location.hash.slice(1));

function Page() {
	const [models, setModels] = useState(null);
	const [error, setError] = useState(null);
	const [chosen, setChosen] = useState(chosenUrl);
	const [tried, setTried] = useState(null);
	useEffect(() => {
		allModels().then(setModels, setError);
		const move = () => setChosen(chosenUrl());
		addEventListener('hashchange', move);
		return () => removeEventListener('hashchange', move);
	}, []);
	if (!models)
		return html`<${Header} title="Models" /><main><${Problem} text=${error?.message} />${error ? '' : html`<p>Loading.</p>`}</main>`;
	// Only paths of the API: the hash is whatever a link says.
	const known = models.some((m) => m.url === chosen);
	return html`<${Header} title="Models">${models.length} models<//>
		<main>${models.length === 0 ? html`<${Problem} text="The database has no models." />` : ''}
			<div class="columns"><${Catalogue} models=${models} chosen=${chosen} />
				<div class="side">${known ? html`<${Model} key=${chosen} url=${chosen} onTry=${(m) => setTried({ ...m })} />`
					: chosen ? html`<${Problem} text="There is no such model." />` : html`<p class="sum">Choose a model to see its card.</p>`}
				<${Explain} models=${models} tried=${tried} /></div>
			</div></main>`;
}

render(html`<${Page} />`, document.getElementById('page'));
