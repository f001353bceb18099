// SPDX-License-Identifier: Apache-2.0
// Joules of units of work: the last evaluations of each unit, and what to write for another one.
import { axis, Chart, html, Problem, useCallback, useMemo, usePolling, useState, ask, watts } from './library.js';

const POLL_MS = 30000, FIRST_MS = 3000;

const joules = (x) => (typeof x === 'number' ? x.toPrecision(4).replace(/\.?0+$|\.?0+(?=e)/, '') : '–');

const moment = (t) => new Date(t * 1000).toLocaleString('en-GB', { day: '2-digit', month: '2-digit', hour: '2-digit', minute: '2-digit' });

const chart = (f) => (colour) => {
	const line = (label, name, dash) => ({ label, stroke: colour(name), width: 1.5, dash, points: { show: false } });
	return {
		padding: [8, 8, 0, 0],
		axes: [axis(colour, { size: 28, space: 100, values: (u, times) => times.map(moment) }), axis(colour, { size: 64, values: (u, ticks) => ticks.map(f) })],
		series: [{}, line('value', 'dynamic'), line('low', 'idle', [4, 4]), line('high', 'idle', [4, 4])],
	};
};

function Unit({ unit }) {
	const last = unit.evaluations.at(-1);
	const [shown, setShown] = useState(0);
	const format = shown < unit.counters.length ? joules : watts;
	const make = useMemo(() => chart(format), [format]);
	const data = useMemo(() => {
		const values = unit.evaluations.map((e) => e.joules[shown] ?? e.standing_watts);
		return [unit.evaluations.map((e) => new Date(e.to) / 1000), ...['value', 'low', 'high'].map((k) => values.map((v) => v[k]))];
	}, [unit, shown]);
	const names = [...unit.counters.map((c) => `J of ${c.name}`), 'standing W'];
	const row = (name, v, f, selector) => html`<tr key=${name}><th scope="row" class="wraps">${name}<br /><span class="detail">${selector}</span></th>
		<td class="number">${f(v.value)}<br /><span class="detail">${f(v.low)} .. ${f(v.high)}</span></td></tr>`;
	return html`<article class="card" aria-label=${`Unit ${unit.unit}`}><h3>${unit.unit}
			${last?.drift ? html` <span class="no">drifts: the newest quarter of the window has other values</span>` : ''}</h3>
		<${Problem} text=${unit.problem && (last ? `${unit.problem}. The figures below are old.` : unit.problem)} />
		${last ? html`<div class=${unit.problem ? 'stale' : ''}><div class="box" tabindex="0" role="region" aria-label=${`Joules of ${unit.unit}`}><table>
			<thead><tr><th scope="col">counter</th><th scope="col" class="number">J a unit<br /><span class="detail">90 % interval</span></th></tr></thead>
			<tbody>${unit.counters.map((c, i) => row(c.name, last.joules[i], joules, c.selector))}
				${row('standing power, W', last.standing_watts, watts, unit.energy.join(', '))}</tbody></table></div>
			${unit.warnings.length ? html`<ul class="warnings">${unit.warnings.map((w) => html`<li key=${w}>${w}</li>`)}</ul>` : ''}
			<p class="sum">R² ${joules(last.r2)}, residual ${watts(last.residual_watts)} W, window to ${new Date(last.to).toLocaleString('en-GB')}</p>
			<label>History of<select value=${shown} onChange=${(e) => setShown(Number(e.target.value))}>${names.map((n, i) => html`<option
				key=${n} value=${i}>${n}</option>`)}</select></label>
			<${Chart} make=${make} of=${`${shown}`} data=${data} height=${150}
				label=${`${names[shown]} in the last ${unit.evaluations.length} evaluations`} /></div>` : ''}
	</article>`;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const lines = (text) => text.split('\n').map((l) => l.trim()).filter(Boolean);

/** The page writes nothing: it shows the text of the file and the command that tries it. */
function Maker() {
	const [fields, setFields] = useState({ name: '', energy: '', work: '' });
	const set = (key) => (e) => setFields({ ...fields, [key]: e.target.value });
	const energy = lines(fields.energy), work = lines(fields.work);
	const unit = { name: fields.name.trim() || 'service', ...(energy.length ? { energy } : {}), work };
	const options = [...energy.map((s) => ['--energy', s]), ...work.map((s) => ['--work', s])];
	return html`<details><summary>Choose workload and counters of another unit</summary>
		<form class="lines" onSubmit=${(e) => e.preventDefault()}>
			<label>Name<input value=${fields.name} placeholder="chat" onInput=${set('name')} /></label>
			<label>Energy, a selector a line (none: the whole node)<textarea rows="2" value=${fields.energy} onInput=${set('energy')}
				placeholder='tallywatt_pod_energy_joules_total{namespace="chat"}'></textarea></label>
			<label>Counters of work, NAME=SELECTOR a line<textarea rows="3" value=${fields.work} onInput=${set('work')}
				placeholder="decode=vllm:generation_tokens_total"></textarea></label>
		</form>
		${work.length ? html`<p class="sum">Try it:</p><pre class="wraps" id="unit-command">${`tallywatt unit ${options.map(([o, s]) => `${o} ${quoted(s)}`).join(' ')}`}</pre>
			<p class="sum">An entry of "units" in the file of tw-trainer --unit:</p><pre class="wraps" id="unit-entry">${JSON.stringify(unit, null, 1)}</pre>` : ''}
	</details>`;
}

export function Units() {
	const [units, setUnits] = useState(null);
	const [error, setError] = useState(null);
	const load = useCallback(async () => {
		const answer = await ask('api/v1/units');
		setUnits(answer.units);
		return answer.units.some((u) => u.evaluations.length === 0) ? FIRST_MS : POLL_MS;
	}, []);
	usePolling(load, setError);
	return html`<section aria-labelledby="units"><div class="tools"><h2 id="units">Joules of units of work</h2>
			<span class="count">${units?.length ? `${units.length} in the file of --unit` : units ? 'none: tw-trainer --unit FILE' : ''}</span></div>
		<${Problem} text=${error && `${error.message}. The figures below are old.`} />
		<div class=${`units ${error ? 'stale' : ''}`}>${(units ?? []).map((u) => html`<${Unit} key=${u.unit} unit=${u} />`)}</div>
		<${Maker} /></section>`;
}
