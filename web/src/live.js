// SPDX-License-Identifier: Apache-2.0
// Live power of a node: zones, the last 15 minutes, and the tree of workloads.
import {
	ask, axis, Chart, duration, Header, html, Problem, render, Sorter, useEffect, useLayoutEffect,
	useMemo, usePolling, useRef, useState, watts,
} from './library.js';
import { LEVELS, sum, Tree } from './tree.js';

const ROW = 28; // px, as in style.css
const KEEP_S = 900;
const MEASURED = { passthrough: 'passed on by the host' };

/* ---- where a number comes from ---- */

/** How a zone is known, in words. */
function origin(z) {
	if (z.model) {
		const prior = (z.model_from || '').startsWith('prior ');
		const error = z.mae_watts ? ` ± ${watts(z.mae_watts)} W` : '';
		return {
			text: prior ? `prior${error}` : html`estimated: <bdi>${z.model}</bdi>${error}`,
			title: [z.model_from, z.mae_watts ? `mean error ${watts(z.mae_watts)} W` : '',
				z.idle === 'hidden' ? 'idle power is not included' : '',
				z.extrapolating ? 'outside the range that the model was trained on' : '',
			].filter(Boolean).join('; '),
			warn: z.extrapolating ? 'extrapolating' : '',
		};
	}
	if (z.estimated)
		return { text: html`estimated: <bdi>${z.origin_model || z.source}</bdi>`, title: z.origin || '' };
	return {
		text: `${z.source === 'fake' ? 'simulated' : 'measured'}: ${z.source}`,
		title: [MEASURED[z.source], z.origin].filter(Boolean).join('; '),
	};
}

function Zone({ z, chosen, onChoose, stale, most }) {
	const from = origin(z);
	const known = z.dynamic_watts !== undefined;
	const total = known ? z.dynamic_watts + z.idle_watts : null;
	const part = (w) => ({ width: `${Math.min(100, 100 * w / (most || 1))}%` });
	const idle = z.idle === 'hidden' ? 'idle hidden'
		: z.idle_known ? `idle ${watts(z.idle_watts)}` : 'idle not known yet';
	return html`<li><button type="button" class=${`zone ${stale ? 'stale' : ''}`} aria-pressed=${chosen}
		onClick=${onChoose} title=${from.title}>
		<span class="zone-name">${z.label}</span>
		<span class="zone-watts">${watts(total)}<small> W</small></span>
		<span class="bar" aria-hidden="true"><i class="idle" style=${part(known ? z.idle_watts : 0)}></i
			><i class="dynamic" style=${part(known ? z.dynamic_watts : 0)}></i></span>
		${known ? html`<span class="zone-parts"><span>dynamic ${watts(z.dynamic_watts)}</span>
			<span>${idle}</span></span>`
			: html`<span class="zone-parts">${z.silent ? `not counted: ${z.silent}` : `unknown: ${z.missing}`}</span>`}
		<span class="zone-from">${from.text}${from.warn ? html`<b> ${from.warn}</b>` : ''}</span>
	</button></li>`;
}

/** Zones by kind, with the sum of the node first. Several of a kind have their names, too. */
function zonesOf(node) {
	const count = {};
	for (const z of node.zones)
		count[z.zone] = (count[z.zone] || 0) + 1;
	const zones = node.zones.map((z) => ({
		...z, label: count[z.zone] > 1 ? `${z.zone} ${z.name}` : z.zone,
	}));
	const last = (z) => (z.missing || z.silent ? 1 : 0);
	return [...zones].sort((a, b) => last(a) - last(b));
}

/** Watts of kinds of zones together; null if a zone that counts has no reading. */
function add(node, kinds) {
	const zones = node.zones.filter((z) => kinds.includes(z.zone) && !z.silent && z.used !== false);
	if (zones.length === 0 || zones.some((z) => z.dynamic_watts === undefined))
		return null;
	return {
		idleKnown: zones.some((z) => z.idle_known) &&
			zones.every((z) => z.idle_known || z.idle === 'hidden'),
		dynamic: zones.reduce((w, z) => w + z.dynamic_watts * 1000, 0),
		idle: zones.reduce((w, z) => w + z.idle_watts * 1000, 0),
	};
}

/** The sum of the node; where a part of it has no reading, the platform has it all. */
function total(node) {
	return add(node, node.sum) ?? add(node, ['platform']) ?? { dynamic: null, idle: null, idleKnown: false };
}

/** How the sum is known, the worst of its zones, with the mean error of models. */
function known(node) {
	const zones = node.zones.filter((z) => node.sum.includes(z.zone) && !z.silent && z.used !== false);
	const error = zones.reduce((w, z) => w + (z.mae_watts || 0), 0);
	const hidden = zones.some((z) => z.idle === 'hidden') ? ' above idle' : '';
	if (zones.some((z) => z.source === 'fake'))
		return 'SIMULATED';
	if (zones.some((z) => z.model || z.estimated))
		return `ESTIMATED${hidden}${error ? ` ± ${watts(error)} W` : ''}`;
	return 'MEASURED';
}

/* ---- the last 15 minutes ---- */

/** Columns of slots: seconds since 1970, then W by zone. */
class History {
	constructor() {
		this.clear();
	}

	clear() {
		this.last = this.lastTop = 0;
		this.time = [];
		this.zone = {};
	}

	take({ node }) {
		const now = Date.now() / 1000;
		if (node.last < this.last)
			this.clear();
		const before = this.time.length;
		for (const z of node.zones) {
			const own = this.zone[z.zone] ??= { dynamic: Array(before).fill(null), idle: Array(before).fill(null) };
			own.dynamic.push(...z.dynamic_watts);
			own.idle.push(...z.idle_watts);
		}
		this.time.push(...node.age_seconds.map((age) => now - age));
		this.last = node.last;
		const drop = this.time.findIndex((t) => t >= now - KEEP_S);
		for (const column of [this.time, ...Object.values(this.zone).flatMap((z) => [z.dynamic, z.idle])]) {
			while (column.length < this.time.length)
				column.push(null);
			column.splice(0, Math.max(drop, 0));
		}
	}

	/** Time, total and idle of kinds of zones together. */
	columns(kinds) {
		const of = kinds.map((k) => this.zone[k]).filter(Boolean);
		const add = (pick) => this.time.map((_, i) => of.reduce(
			(w, z) => (w === null || pick(z, i) === null ? null : w + pick(z, i)), 0));
		if (of.length === 0)
			return [this.time, this.time.map(() => null), this.time.map(() => null)];
		return [this.time, add((z, i) => (z.idle[i] === null ? null : z.idle[i] + z.dynamic[i])),
			add((z, i) => z.idle[i])];
	}
}

const clock = (t) => new Date(t * 1000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });

const powerChart = (colour) => ({
	padding: [8, 8, 0, 0],
	scales: {
		x: { range: () => [Date.now() / 1000 - KEEP_S, Date.now() / 1000] },
		y: { range: (u, min, max) => [0, Math.max(max * 1.1, 1)] },
	},
	axes: [axis(colour, { size: 28, space: 70, values: (u, times) => times.map(clock) }), axis(colour, { size: 48 })],
	series: [{}, { label: 'total', stroke: colour('dynamic'), fill: colour('dynamic-soft'), width: 1.5, points: { show: false } },
		{ label: 'idle', stroke: colour('idle'), fill: colour('idle-soft'), width: 1, points: { show: false } }],
});

/* ---- workloads ---- */

function Spark({ run }) {
	const most = run.reduce((m, w) => Math.max(m, w ?? 0), 0);
	if (most === 0)
		return html`<svg class="spark" aria-hidden="true"></svg>`;
	const width = 100 / 59;
	const at = (w, i) => `${((60 - run.length + i) * width).toFixed(1)},${(19 - 18 * w / most).toFixed(1)}`;
	let path = '', pen = false;
	run.forEach((w, i) => {
		if (w !== null)
			path += `${pen ? 'L' : 'M'}${at(w, i)}${run[i + 1] == null && !pen ? 'h1' : ''}`;
		pen = w !== null;
	});
	return html`<svg class="spark" viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true"
		><path d=${path} /></svg>`;
}

function Row({ row, index, current, tree, onToggle, onFocus, stale, idleKnown }) {
	const { w, depth, parts, open } = row;
	const foldable = parts > 0 && w.level !== 'node';
	const run = w.level === 'node' ? [] : tree.run(w.serial);
	const kind = w.level === 'process' ? String(w.pid || '')
		: w.level === 'node' ? 'node' : LEVELS[w.level];
	return html`<tr id=${`row-${w.serial}`} aria-level=${depth} aria-rowindex=${index + 2}
		aria-expanded=${parts > 0 ? String(open) : undefined} aria-selected=${String(current)}
		class=${`${current ? 'current ' : ''}${stale ? 'stale ' : ''}${w.ended ? 'ended' : ''}`}
		onClick=${() => onFocus(index)} onDblClick=${() => foldable && onToggle(w.serial)}>
		<td role="gridcell" class="name" style=${{ paddingLeft: `${8 + (depth - 1) * 16}px` }}>
			${foldable ? html`<span class="twisty" aria-hidden="true" onClick=${() => onToggle(w.serial)}
				>${open ? '▾' : '▸'}</span>` : html`<span class="twisty"></span>`}
			<span class="label" title=${[w.name, w.detail, w.id].filter(Boolean).join(' · ')}>${w.name}</span>
			${w.detail ? html` <span class="detail">${w.detail}</span>` : ''}
			${parts > 0 ? html` <span class="detail">${parts}</span>` : ''}
			${w.ended ? html` <span class="detail">ended</span>` : ''}</td>
		<td role="gridcell" class="kind">${kind}</td>
		<td role="gridcell" class="number">${w.dynamic === null ? '–' : watts(w.dynamic / 1000)}</td>
		<td role="gridcell" class="number wide">${w.idle === null || !idleKnown ? '–' : watts(w.idle / 1000)}</td>
		<td role="gridcell" class="wide sparks"><${Spark} run=${run} /></td>
	</tr>`;
}

/** Only the rows in sight are in the document, whatever their number. */
function Workloads({ tree, version, node, name, stale, leftOut }) {
	const [search, setSearch] = useState('');
	const [flat, setFlat] = useState(false);
	const [order, setOrder] = useState({ by: 'power', down: true });
	const [open, setOpen] = useState(null);
	const [current, setCurrent] = useState(null); // a serial
	const [view, setView] = useState({ top: 0, height: 600 });
	const scroller = useRef(null);

	// Few groups are unfolded from the start.
	const unfolded = open ?? (tree.groups.size <= 3 ? new Set(tree.groups.keys()) : new Set());
	const rows = useMemo(() => {
		performance.mark('rows');
		const made = tree.rows({ order, search, flat, open: unfolded, nodeName: name, node });
		performance.measure('tallywatt-rows', 'rows');
		return made;
	}, [version, order, search, flat, open, name]);
	const at = Math.max(rows.findIndex((r) => r.w.serial === current), 0);

	useEffect(() => {
		const box = scroller.current;
		const measure = () => setView({ top: box.scrollTop, height: box.clientHeight });
		const resize = new ResizeObserver(measure);
		resize.observe(box);
		box.addEventListener('scroll', measure, { passive: true });
		return () => {
			resize.disconnect();
			box.removeEventListener('scroll', measure);
		};
	}, []);

	const focus = (index) => {
		const i = Math.min(Math.max(index, 0), rows.length - 1);
		const box = scroller.current;
		const head = box.querySelector('thead').offsetHeight;
		if (rows.length === 0)
			return;
		setCurrent(rows[i].w.serial);
		if (i * ROW < box.scrollTop)
			box.scrollTop = i * ROW;
		else if ((i + 1) * ROW + head > box.scrollTop + box.clientHeight)
			box.scrollTop = (i + 1) * ROW + head - box.clientHeight;
	};
	const toggle = (serial) => {
		const next = new Set(unfolded);
		if (!next.delete(serial))
			next.add(serial);
		setOpen(next);
	};
	const keyDown = (event) => {
		if (event.target !== scroller.current || rows.length === 0)
			return;
		const row = rows[at], page = Math.max(Math.floor(view.height / ROW) - 2, 1);
		const up = () => {
			for (let i = at; i >= 0; i--)
				if (rows[i].depth < row.depth)
					return i;
			return at;
		};
		const actions = {
			ArrowDown: () => focus(at + 1), ArrowUp: () => focus(at - 1),
			PageDown: () => focus(at + page), PageUp: () => focus(at - page),
			Home: () => focus(0), End: () => focus(rows.length - 1),
			Enter: () => row.parts > 0 && at > 0 && toggle(row.w.serial),
			ArrowRight: () => (row.parts > 0 && !row.open ? toggle(row.w.serial) : row.open && focus(at + 1)),
			ArrowLeft: () => (row.open && row.parts > 0 && at > 0 ? toggle(row.w.serial) : focus(up())),
		};
		if (actions[event.key]) {
			event.preventDefault();
			actions[event.key]();
		}
	};

	const first = Math.max(Math.floor(view.top / ROW) - 6, 0);
	const last = Math.min(first + Math.ceil(view.height / ROW) + 14, rows.length);
	const shown = rows.slice(first, last);
	const isShown = at >= first && at < last && rows.length > 0;
	return html`<section aria-labelledby="workloads">
		<div class="tools">
			<h2 id="workloads">Workloads</h2>
			<span class="count" role="status">${flat ? `${rows.length} processes` : `${tree.processes.size} processes`}${
				leftOut > 0 ? `, ${leftOut} more are not shown` : ''}</span>
			<input type="search" placeholder="Search name, pid, id" aria-label="Search workloads"
				value=${search} onInput=${(e) => setSearch(e.target.value)} />
			<div class="choice" role="group" aria-label="Arrangement">
				<button type="button" aria-pressed=${!flat} onClick=${() => setFlat(false)}>Tree</button>
				<button type="button" aria-pressed=${flat} onClick=${() => setFlat(true)}>List</button>
			</div>
		</div>
		<div class="scroller" ref=${scroller} tabindex="0" role="treegrid" aria-label="Workloads by power"
			aria-rowcount=${rows.length + 1} aria-activedescendant=${isShown ? `row-${rows[at].w.serial}` : undefined}
			onKeyDown=${keyDown}>
			<table role="presentation">
				<thead role="rowgroup"><tr role="row" aria-rowindex="1">
					<${Sorter} by="name" order=${order} onOrder=${setOrder} role="columnheader">Name<//>
					<th scope="col" role="columnheader" class="kind">Kind, pid</th>
					<${Sorter} by="power" order=${order} onOrder=${setOrder} role="columnheader" class="number">Power W<//>
					<${Sorter} by="idle" order=${order} onOrder=${setOrder} role="columnheader" class="number wide">Idle W<//>
					<th scope="col" role="columnheader" class="wide">15 min</th>
				</tr></thead>
				<tbody role="rowgroup">
					<tr role="presentation" style=${{ height: `${first * ROW}px` }}></tr>
					${shown.map((row, i) => html`<${Row} key=${row.w.serial} row=${row} index=${first + i}
						current=${first + i === at && current !== null} tree=${tree} onToggle=${toggle}
						onFocus=${focus} stale=${stale} idleKnown=${node.idleKnown} />`)}
					<tr role="presentation" style=${{ height: `${(rows.length - last) * ROW}px` }}></tr>
				</tbody>
			</table>
			${rows.length === 0 ? html`<p class="none">No workload matches “${search}”.</p>` : ''}
		</div>
	</section>`;
}

/* ---- the page ---- */

function Page() {
	const tree = useRef(new Tree()).current, history = useRef(new History()).current;
	const [answer, setAnswer] = useState(null);
	const [version, setVersion] = useState(0);
	const [error, setError] = useState(null);
	const [chosen, setChosen] = useState(null); // kind of zone; null: the sum
	const [age, setAge] = useState(0);
	const taken = useRef(0);

	usePolling(async () => {
		const live = await ask(`api/v1/live?tick=${tree.tick}&newest=${tree.newest}`);
		if (live === null)
			return 250;
		if (!tree.take(live))
			tree.tick = tree.newest = 0;
		if (live.whole)
			history.lastTop = 0;
		const past = await ask(`api/v1/history?node=${history.last}&workloads=${history.lastTop}`);
		history.take(past);
		tree.takeHistory(past.workloads);
		history.lastTop = past.workloads.last;
		taken.current = Date.now() - live.age_ms;
		setAnswer(live);
		setVersion((v) => v + 1);
		return Math.max(live.interval_ms - live.age_ms + 60, 250);
	}, setError);

	useEffect(() => {
		const timer = setInterval(() => setAge((Date.now() - taken.current) / 1000), 500);
		return () => clearInterval(timer);
	}, []);

	const stale = answer !== null && (error !== null || age * 1000 > 3 * answer.interval_ms + 1000);
	const zones = useMemo(() => (answer ? zonesOf(answer.node) : []), [answer]);
	const node = useMemo(() => (answer ? total(answer.node) : null), [answer]);
	const kinds = chosen !== null ? [chosen] : answer?.node.sum ?? [];
	const columns = useMemo(() => history.columns(kinds), [version, chosen]);
	const most = zones.reduce((m, z) => Math.max(m, (z.dynamic_watts ?? 0) + (z.idle_watts ?? 0)), 0);
	const fleet = html`<a href="fleet">Fleet</a> `;
	if (answer === null)
		return html`<${Header} title="Live power">${error ? fleet : ''}<//><main><${Problem} text=${error?.message} />
			${error ? '' : html`<p>Waiting for the first tick.</p>`}</main>`;
	const watt = sum(node);
	const what = chosen ?? (answer.node.sum.join(' + ') || 'no meter');
	return html`<${Header} title="Live power">${answer.agents ? fleet : ''}
			<span class=${stale ? 'stale-mark' : ''}>${stale ? `stale: ${duration(age)} old`
				: `every ${duration(answer.interval_ms / 1000)}`}</span>
		<//>
		<main>
			<${Problem} text=${error ? `${error.message}. The figures below are old.`
				: answer.node.sum.length === 0 ? 'No power meter and no model: power is unknown here. '
					+ 'tw-collector --model-db estimates it.' : ''} />
			<section class="node" aria-label="Power of the node">
				<div class="now">
					<h2>${answer.node.name || 'node'}</h2>
					<p class=${`big ${stale ? 'stale' : ''}`}>${watt < 0 ? 'unknown' : html`${watts(watt / 1000)}<small> W</small>`}</p>
					<p class="sum">${watt < 0 ? '' : html`<b>${known(answer.node)}</b> `
						}${answer.node.sum.join(' + ') || 'nothing to add up'}</p>
					${watt < 0 ? '' : html`<p class="parts"><i class="key dynamic"></i> dynamic ${watts(node.dynamic / 1000)} W
						<i class="key idle"></i> idle ${node.idleKnown ? `${watts(node.idle / 1000)} W` : 'not known'}</p>`}
				</div>
				<figure>
					<figcaption>${what}, W, last 15 minutes</figcaption>
					<${Chart} make=${powerChart} data=${columns} height=${190}
						label=${`Power of ${what} in the last 15 minutes; now ${watts(columns[1].at(-1))} W`} />
				</figure>
			</section>
			<section aria-labelledby="zones">
				<h2 id="zones">Zones</h2>
				<ul class="zones">${zones.map((z) => html`<${Zone} key=${z.label + z.source} z=${z} stale=${stale} most=${most}
					chosen=${chosen === z.zone} onChoose=${() => setChosen(chosen === z.zone ? null : z.zone)} />`)}</ul>
			</section>
			<${Workloads} tree=${tree} version=${version} node=${node} name=${answer.node.name || 'node'}
				stale=${stale} leftOut=${tree.leftOut} />
		</main>`;
}

render(html`<${Page} />`, document.getElementById('page'));
