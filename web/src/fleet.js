// SPDX-License-Identifier: Apache-2.0
// The fleet: nodes that other collectors measure, their namespaces, and the health of these agents.
import {
	ask, duration, Header, html, number, Problem, render, Sorter, useMemo, usePolling, useState, watts,
} from './library.js';

const POLL_MS = 5000;
const TOP = 20; // namespaces
const KWH_J = 3.6e6;
/** Zones overlap: the first of these that a sum has is its power. */
const OF_NODE = [['platform'], ['psys'], ['package', 'dram', 'gpu']];
const OF_WORKLOADS = [['package', 'dram', 'gpu', 'other'], ['platform'], ['psys']];

const add = (zones, pick) => zones.reduce((x, z) => (pick(z) === undefined ? x : (x ?? 0) + pick(z)), null);

/** Power and energy of a sum. watts is null where no agent that is up knows it. */
function sumOf({ zones }, order) {
	const covers = order.find((kinds) => zones.some((z) => kinds.includes(z.zone))) ?? [];
	const parts = zones.filter((z) => covers.includes(z.zone));
	const powered = parts.filter((z) => z.watts !== undefined);
	return {
		watts: add(powered, (z) => z.watts), joules: add(parts, (z) => z.dynamic_joules + z.idle_joules),
		covers: covers.filter((kind) => parts.some((z) => z.zone === kind)).join(' + '),
		known: powered.some((z) => z.source === 'fake') ? 'simulated'
			: powered.some((z) => z.source === 'model' || z.source === 'passthrough') ? 'estimated' : 'measured',
		sources: [...new Set(parts.map((z) => z.source))].join(', '),
	};
}

/** Agents with the power of their node, by name. A collector is its instance: two may have one node name. */
function nodesOf(answer) {
	const named = new Map();
	for (const a of answer.agents)
		named.set(a.node_name, (named.get(a.node_name) ?? new Set()).add(a.instance || a.url));
	return answer.agents.map((a) => ({
		...a, ...sumOf(a, OF_NODE), key: a.instance || a.url, name: a.node_name || a.url.replace(/^\w+:\/\//, ''),
		shared: a.node_name !== '' && named.get(a.node_name).size > 1,
	})).sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
}

/** All nodes, each once. The power of a guest is its host's. Nodes may differ in what their meters cover. */
function totalOf(nodes) {
	const hosts = [...new Map(nodes.filter((n) => n.node_name && !n.guest).map((n) => [n.key, n])).values()];
	const known = (key) => hosts.map((n) => n[key]).filter((x) => x !== null && x !== undefined);
	const sum = (list) => (list.length === 0 ? null : list.reduce((a, b) => a + b));
	const kinds = ['measured', 'estimated', 'simulated'].map((kind) => [kind, hosts.filter((n) => n.up && n.watts !== null && n.known === kind).length])
		.filter(([, count]) => count > 0);
	return { kinds: kinds.map(([kind, count]) => `${kinds.length > 1 ? `${count} ` : ''}${kind.toUpperCase()}`).join(', '),
		watts: sum(known('watts')), joules: sum(known('joules')), covers: [...new Set(known('covers'))].filter(Boolean).join(', or ') };
}

const SHARED = 'name used twice';
const state = (a) => (a.up ? (a.guest ? 'up, guest' : 'up') : `down: ${a.reason || 'not asked yet'}`);

/** A node of the heat map: the more power, the deeper its colour. Its text has the figures. */
function Cell({ node, most }) {
	const depth = node.up && node.watts !== null ? Math.round(40 * node.watts / (most || 1)) : 0;
	const known = node.up ? `${watts(node.watts)} W` : 'down';
	return html`<li class=${`cell ${node.up ? '' : 'down'}`} style=${{ '--depth': `${depth}%` }}
		title=${[node.url, state(node), node.shared ? SHARED : '', node.covers, node.sources].filter(Boolean).join(' · ')}>
		<span class="label">${node.name}</span><b>${known}</b>${node.up && node.watts !== null && node.known !== 'measured' ? html`<span class="detail">${node.known}</span>` : ''}${node.shared ? html`<span class="detail">${SHARED}</span>` : ''}</li>`;
}

function HeatMap({ nodes }) {
	const most = nodes.reduce((m, n) => Math.max(m, n.watts ?? 0), 0);
	return html`<ul class="cells" aria-label="Power of nodes">${nodes.map((n) => html`<${Cell} key=${n.url} node=${n} most=${most} />`)}</ul>
		${nodes.length === 0 ? html`<p class="none">No node matches.</p>` : ''}`;
}

const ORDERS = {
	name: (a) => a.name, power: (a) => a.watts ?? -1, energy: (a) => a.joules ?? -1, state: (a) => (a.up ? '1' : `0${a.reason}`),
	age: (a) => a.age_seconds ?? Infinity, took: (a) => a.duration_seconds, failures: (a) => a.failures, restarts: (a) => a.restarts,
};

function sorted(list, { by, down }) {
	const key = ORDERS[by], turn = down ? -1 : 1;
	return [...list].sort((a, b) => {
		const x = key(a), y = key(b);
		return turn * (typeof x === 'string' ? x.localeCompare(y, 'en', { numeric: true }) : x - y);
	});
}

function Namespaces({ answer }) {
	const [order, setOrder] = useState({ by: 'power', down: true });
	const all = useMemo(() => answer.sums.filter((s) => s.level === 'namespace')
		.map((s) => ({ name: s.namespace || '(none)', ...sumOf(s, OF_WORKLOADS) })), [answer]);
	const most = all.reduce((m, n) => Math.max(m, n.watts ?? 0), 0);
	const head = (by, text, more = 'number') => html`<${Sorter} by=${by} order=${order} onOrder=${setOrder} class=${more}>${text}<//>`;
	return html`<section aria-labelledby="namespaces"><div class="tools"><h2 id="namespaces">Namespaces</h2>
			<span class="count">${all.length > TOP ? `${TOP} of ${all.length}` : all.length}</span></div>
		<div class="box" tabindex="0" role="region" aria-label="Namespaces by power"><table>
			<thead><tr>${head('name', 'Namespace', '')}${head('power', 'Power W')}<th scope="col" class="wide"><span class="hidden">share</span></th>
				${head('energy', 'Energy kWh', 'number wide')}</tr></thead>
			<tbody>${sorted(all, order).slice(0, TOP).map((n) => html`<tr key=${n.name}><th scope="row" class="wraps">${n.name}</th>
				<td class="number">${watts(n.watts)}</td>
				<td class="wide share"><span class="bar" aria-hidden="true"><i class="dynamic" style=${{ width: `${100 * (n.watts ?? 0) / (most || 1)}%` }}></i></span></td>
				<td class="number wide">${n.joules === null ? '–' : number(n.joules / KWH_J, 3)}</td></tr>`)}</tbody></table>
			${all.length === 0 ? html`<p class="none">No agent has pods. --agents-levels must have namespace.</p>` : ''}</div>
	</section>`;
}

function Agents({ nodes }) {
	const [order, setOrder] = useState({ by: 'state', down: false });
	const head = (by, text, more = 'number wide') => html`<${Sorter} by=${by} order=${order} onOrder=${setOrder} class=${more}>${text}<//>`;
	return html`<section aria-labelledby="agents"><h2 id="agents">Agents</h2>
		<div class="box list" tabindex="0" role="region" aria-label="Health of agents"><table>
			<thead><tr>${head('name', 'Node', '')}${head('state', 'State', '')}${head('power', 'Power W', 'number')}${head('age', 'Age')}
				${head('took', 'Took')}${head('failures', 'Failures')}${head('restarts', 'Restarts')}</tr></thead>
			<tbody>${sorted(nodes, order).map((a) => html`<tr key=${a.url}><th scope="row" class="wraps">${a.name}<br /><span class="detail">${a.url}${a.shared ? ` · ${SHARED}` : ''}</span></th>
				<td class=${a.up ? 'yes' : 'no wraps'}>${state(a)}</td><td class="number">${a.up ? watts(a.watts) : '–'}</td>
				<td class="number wide">${duration(a.age_seconds)}</td><td class="number wide">${duration(a.duration_seconds)}</td>
				<td class="number wide">${a.failures}</td><td class="number wide">${a.restarts}</td></tr>`)}</tbody></table></div>
	</section>`;
}

function Page() {
	const [answer, setAnswer] = useState(null);
	const [error, setError] = useState(null);
	const [search, setSearch] = useState('');
	usePolling(async () => {
		setAnswer(await ask('api/v1/agents?level=namespace'));
		return POLL_MS;
	}, setError);
	const nodes = useMemo(() => (answer ? nodesOf(answer) : []), [answer]);
	const header = (text) => html`<${Header} title="Fleet"><a href=".">Live power</a> <span class=${error ? 'stale-mark' : ''}>${text}</span><//>`;
	if (answer === null)
		return html`${header('')}<main><${Problem} text=${error?.message} />${error ? '' : html`<p>Loading.</p>`}</main>`;
	const all = totalOf(nodes), down = nodes.filter((n) => !n.up).length, guests = nodes.filter((n) => n.guest).length;
	const shown = nodes.filter((n) => `${n.name} ${n.url}`.toLowerCase().includes(search.toLowerCase()));
	return html`${header(error ? 'stale' : `every ${duration(POLL_MS / 1000)}`)}
		<main class=${error ? 'stale' : ''}>
			<${Problem} text=${error ? `${error.message}. The figures below are old.` : down > 0 ? `${down} of ${nodes.length} agents are down: their power is not in the sums.` : ''} />
			<section class="node" aria-label="Power of the fleet"><div class="now">
				<h2>${nodes.length} agents</h2>
				<p class="big">${all.watts === null ? 'unknown' : html`${watts(all.watts)}<small> W</small>`}</p>
				<p class="sum">${all.kinds ? html`<b>${all.kinds}</b> ` : ''}${[all.covers || 'nothing to add up', guests > 0 ? `${guests} guests count with their hosts` : ''].filter(Boolean).join('; ')}</p>
				<p class="parts">${all.joules === null ? '' : `${number(all.joules / KWH_J, 3)} kWh since the sums began`}</p></div>
				<${Namespaces} answer=${answer} /></section>
			<section aria-labelledby="nodes"><div class="tools"><h2 id="nodes">Nodes</h2><span class="count" role="status">${shown.length} of ${nodes.length}</span>
				<input type="search" placeholder="Search nodes" aria-label="Search nodes" value=${search} onInput=${(e) => setSearch(e.target.value)} /></div>
				<${HeatMap} nodes=${shown} /></section>
			<${Agents} nodes=${shown} />
		</main>`;
}

render(html`<${Page} />`, document.getElementById('page'));
