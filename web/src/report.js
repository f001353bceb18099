// SPDX-License-Identifier: Apache-2.0
// Parts of a model's metadata as tables: the certificate, errors, quality of its recordings.
import { html, number, watts } from './library.js';

const COMPONENTS = ['package', 'core', 'uncore', 'dram', 'platform', 'gpu'];
const CERTIFICATE = {
	rises: 'power rises with load', additive: 'power of the parts is that of the whole',
	rest: 'power at rest is the recorded power', no_jump: 'no jump just above rest',
	non_negative: 'power is never negative',
};
const QUALITY = [
	['span_s', 'span', 's'], ['rows', 'rows', ''], ['step_s', 'step', 's'], ['gaps', 'gaps', ''],
	['longest_gap_s', 'longest gap', 's'], ['restarts', 'restarts', ''],
	['dropped_rows', 'dropped rows', ''], ['load_min', 'lowest load', 'CPUs'],
	['load_max', 'highest load', 'CPUs'], ['rest_s', 'time at rest', 's'],
	['idle_low_w', 'idle power from', 'W'], ['idle_high_w', 'idle power to', 'W'],
	['lag_s', 'lag of power', 's'],
];

/** Additivity is for workloads, rest for machines: only what applies can fail. */
export function certificate(metadata) {
	return Object.entries(CERTIFICATE)
		.filter(([key]) => `certificate_${key}` in metadata)
		.filter(([key]) => metadata.output_type === 'DynPower' || key !== 'additive')
		.map(([key, text]) => ({ key, text, holds: metadata[`certificate_${key}`] }));
}

export function Certificate({ metadata }) {
	const tests = certificate(metadata);
	if (metadata.certificate_refused)
		return html`<p class="no">refused: ${metadata.certificate_refused}</p>`;
	if (tests.length === 0)
		return html`<p>Without a certificate: it is checked when the model is first chosen.</p>`;
	return html`<ul class="plain">${tests.map((t) => html`<li key=${t.key}
		class=${t.holds ? 'yes' : 'no'}>${t.holds ? '✓' : '✗'} ${t.text}${t.holds ? '' : ': no'}</li>`)}</ul>`;
}

/** Errors on rows that the model did not see, for components with power. */
export function Errors({ metadata }) {
	const rows = COMPONENTS.filter((c) => typeof metadata[`${c}_mae`] === 'number' && metadata[`${c}_rmse`] > 0);
	const cell = (c, key, f = watts) => html`<td class="number">${f(metadata[`${c}_${key}`])}</td>`;
	if (rows.length === 0)
		return html`<p>No errors are recorded.</p>`;
	return html`<div class="box" tabindex="0" role="region" aria-label="Errors by component"><table>
		<thead><tr><th scope="col">component</th><th scope="col" class="number">mean error W</th>
			<th scope="col" class="number">95 % within W</th><th scope="col" class="number">bias W</th>
			<th scope="col" class="number">R²</th></tr></thead>
		<tbody>${rows.map((c) => html`<tr key=${c}><th scope="row">${c}</th>${cell(c, 'mae')}${cell(c, 'p95')}
			${cell(c, 'bias')}${cell(c, 'r2', (x) => number(x, 3))}</tr>`)}</tbody>
	</table></div>`;
}

export function Quality({ list }) {
	if (!list?.length)
		return html`<p>The quality of the recording is not known.</p>`;
	return list.map((q, i) => html`<div key=${i}>
		<dl class="facts">${QUALITY.filter(([key]) => typeof q[key] === 'number').map(([key, text, unit]) => html`
			<dt key=${key}>${text}</dt><dd>${number(q[key])} ${unit}</dd>`)}
			${typeof q.energy_rows_j === 'number' && q.energy_meter_j > 0 ? html`<dt>energy of the rows</dt>
				<dd>${number(100 * q.energy_rows_j / q.energy_meter_j, 1)} % of the meter's</dd>` : ''}</dl>
		${q.warnings?.length ? html`<ul class="warnings">${q.warnings.map((w) => html`<li key=${w}>${w}</li>`)}</ul>` : ''}
	</div>`);
}
