// SPDX-License-Identifier: Apache-2.0
// What all pages share: Preact, htm and uPlot, how to ask the daemon, and how to show numbers.
import { h, render } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import htm from 'htm';
import uPlot from 'uplot';

export const html = htm.bind(h);
export { render, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState };

/* ---- the daemon ---- */

/** Ask the daemon. Paths are relative, so a proxy may serve the page below any path. */
export async function ask(path, options = {}) {
	const answer = await fetch(path.replace(/^\//, ''), { cache: 'no-store', ...options });
	if (answer.status === 204)
		return null;
	const text = await answer.text();
	let value = null;
	try {
		value = JSON.parse(text);
	} catch {
		// A proxy may answer something else.
	}
	if (!answer.ok)
		throw new Error(value?.detail || `the daemon answers ${answer.status}`);
	return value;
}

/**
 * Ask again and again while the page is seen. `once` returns the ms to the next time. After a
 * failure: 1 s, then 2, 4, up to 30 s. A page that was hidden asks at once.
 */
export function usePolling(once, onError) {
	useEffect(() => {
		let timer = 0, failures = 0, ended = false, busy = false;
		const run = async () => {
			if (busy || document.hidden)
				return;
			busy = true;
			clearTimeout(timer);
			let wait;
			try {
				wait = await once();
				failures = 0;
				onError(null);
			} catch (error) {
				wait = Math.min(1000 * 2 ** failures++, 30000);
				onError(error);
			}
			busy = false;
			if (!ended)
				timer = setTimeout(run, wait);
		};
		run();
		document.addEventListener('visibilitychange', run);
		return () => {
			ended = true;
			clearTimeout(timer);
			document.removeEventListener('visibilitychange', run);
		};
	}, []);
}

/* ---- numbers ---- */

/** Watts with digits as their size asks for. Unknown is a dash, never 0. */
export function watts(w) {
	if (w === null || w === undefined || Number.isNaN(w))
		return '–';
	const size = Math.abs(w);
	return w.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 || w === 0 ? 2 : 3);
}

export function number(x, digits = 2) {
	return typeof x === 'number' ? x.toLocaleString('en', { maximumFractionDigits: digits }) : '–';
}

export function duration(seconds) {
	if (seconds === null || seconds === undefined || Number.isNaN(seconds))
		return '–';
	if (seconds < 60)
		return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
	if (seconds < 3600)
		return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
	return `${Math.floor(seconds / 3600)} h ${Math.round(seconds % 3600 / 60)} min`;
}

/* ---- light and dark ---- */

const THEMES = ['auto', 'light', 'dark'];

function storedTheme() {
	try {
		return THEMES.find((t) => t === localStorage.getItem('tallywatt-theme')) || 'auto';
	} catch {
		return 'auto'; // no storage
	}
}

function applyTheme(theme) {
	const dark = theme === 'dark' ||
		(theme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
	document.documentElement.dataset.theme = dark ? 'dark' : 'light';
	dispatchEvent(new Event('tallywatt-theme'));
}

applyTheme(storedTheme());
matchMedia('(prefers-color-scheme: dark)').addEventListener('change',
	() => applyTheme(storedTheme()));

/* ---- parts of pages ---- */

export function Header({ title, children }) {
	const [theme, setTheme] = useState(storedTheme);
	const change = () => {
		const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
		try {
			localStorage.setItem('tallywatt-theme', next);
		} catch {
			// It holds until the page is left.
		}
		setTheme(next);
		applyTheme(next);
	};
	return html`<header>
		<h1><span class="brand">Tallywatt</span> ${title}</h1>
		<div class="status">${children}</div>
		<button type="button" class="quiet" onClick=${change}
			aria-label=${`Colours: ${theme}. Change`}>${{ auto: '◐', light: '☀', dark: '☾' }[theme]}
			<span class="wide"> ${theme}</span></button>
	</header>`;
}

/** A problem that the reader should know of; empty without one. */
export function Problem({ text }) {
	return html`<div role="status" class=${text ? 'problem' : ''}>${text}</div>`;
}

export function colours() {
	const style = getComputedStyle(document.documentElement);
	return (name) => style.getPropertyValue(`--${name}`).trim();
}

/**
 * A uPlot chart: `make(colour)` gives its options without a size, `data` its columns. `label`
 * is for screen readers, which see no canvas.
 */
export function Chart({ make, data, height, label, of }) {
	const place = useRef(null), chart = useRef(null);
	useLayoutEffect(() => {
		const build = () => {
			const style = colours();
			chart.current?.destroy();
			chart.current = new uPlot({
				width: Math.max(place.current.clientWidth, 200), height,
				legend: { show: false }, cursor: { y: false }, ...make(style),
			}, data, place.current);
		};
		const resize = new ResizeObserver(() => chart.current?.setSize({
			width: Math.max(place.current.clientWidth, 200), height,
		}));
		build();
		resize.observe(place.current);
		addEventListener('tallywatt-theme', build);
		return () => {
			resize.disconnect();
			removeEventListener('tallywatt-theme', build);
			chart.current?.destroy();
			chart.current = null;
		};
	}, [of]);
	useLayoutEffect(() => chart.current?.setData(data), [data]);
	return html`<div class="chart" role="img" aria-label=${label} ref=${place}></div>`;
}

/** Options of an axis. */
export function axis(colour, more) {
	return {
		stroke: colour('muted'), grid: { stroke: colour('line'), width: 1 },
		ticks: { stroke: colour('line'), width: 1, size: 4 }, font: '12px system-ui, sans-serif',
		...more,
	};
}

/** A button that wants a second click within 4 s. */
export function Sure({ label, sure, onClick, name }) {
	const [asked, setAsked] = useState(false);
	useEffect(() => {
		const timer = asked ? setTimeout(() => setAsked(false), 4000) : 0;
		return () => clearTimeout(timer);
	}, [asked]);
	const click = () => {
		setAsked(!asked);
		if (asked)
			onClick();
	};
	return html`<button type="button" class=${asked ? 'danger' : ''} onClick=${click}
		aria-label=${`${asked ? sure : label} ${name}`}>${asked ? sure : label}</button>`;
}

/** The header cell of a column that sorts. order: { by, down }. */
export function Sorter({ by, order, onOrder, children, ...more }) {
	const current = order.by === by;
	return html`<th scope="col" aria-sort=${current ? order.down ? 'descending' : 'ascending' : 'none'}
		...${more}><button type="button" class="sorter"
		onClick=${() => onOrder({ by, down: current ? !order.down : by !== 'name' })}>${children}
		<span class="arrow" aria-hidden="true">${current ? order.down ? '▾' : '▴' : ''}</span>
		</button></th>`;
}
