// SPDX-License-Identifier: Apache-2.0
//
// The pages in a real browser. For tests/integration/test_web.py, which starts the daemons:
//
//   node tests/web/browser.mjs '{"modules": DIR, "chromium": FILE, "live": URL, "models": URL,
//                               "jobs": URL, "long": FILE, "fleet": URL, "nodes": N,
//                               "shots": DIR or null}'
//
// The trainer has two trainings. FILE is the request of a long one.
// Prints a JSON object: check -> list of what is wrong, and "figures".
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const config = JSON.parse(process.argv[2]);
const require = createRequire(join(config.modules, 'x.js'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const HOSTILE = '<img src=x onerror="window.hurt=1">\u202e"\'`${1}</script>';
const PROCESSES = 10000, SORTS = 6, SORTS_MAX = 60, SORT_MS = 50;
const TIMEOUT_MS = 120000; // ends a hang

const wrong = {};
const figures = {};
const browser = await chromium.launch({
	executablePath: config.chromium, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
});

function expect(name, holds, what) {
	wrong[name] ??= [];
	if (!holds)
		wrong[name].push(what);
}

/** A page that notes what it must not do. */
async function open(name, url, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
	const page = await context.newPage();
	page.setDefaultTimeout(TIMEOUT_MS);
	page.allowed = [];
	page.on('console', (m) => {
		if (['error', 'warning'].includes(m.type()) && !page.allowed.some((a) => m.text().includes(a)))
			expect(name, false, `console: ${m.text()}`);
	});
	page.on('pageerror', (e) => expect(name, false, `exception: ${e.message}`));
	page.on('request', (r) => expect(name, new URL(r.url()).origin === new URL(url).origin,
		`request elsewhere: ${r.url()}`));
	page.on('response', (r) => expect(name, r.status() < 400, `${r.status()} of ${r.url()}`));
	if (options.before)
		await options.before(page);
	await page.goto(url);
	return page;
}

async function check(name, run) {
	wrong[name] ??= [];
	try {
		await run(name);
	} catch (error) {
		expect(name, false, error.message.split('\n').slice(0, 6).join(' | '));
	}
}

async function accessible(name, page, rules = null) {
	await page.evaluate(axe);
	const found = await page.evaluate((only) => globalThis.axe.run(document, {
		resultTypes: ['violations'], ...(only ? { runOnly: only } : {}),
	}), rules);
	for (const v of found.violations)
		expect(name, false,
			`axe: ${v.impact}: ${v.id}: ${v.nodes.slice(0, 2).map((n) => n.html.slice(0, 160)).join(' ; ')}`);
}

/** In dark colours, and as wide as a phone and as 4K: axe, and nothing beside the window. */
async function looks(name, page) {
	await accessible(name, page);
	await page.emulateMedia({ colorScheme: 'dark' });
	await page.waitForFunction(() => document.documentElement.dataset.theme === 'dark');
	await accessible(name, page, ['color-contrast']);
	for (const [width, height] of [[360, 740], [3840, 1000]]) {
		await page.setViewportSize({ width, height });
		await page.waitForTimeout(100);
		const wide = await page.evaluate(() => document.documentElement.scrollWidth);
		expect(name, wide <= width, `${wide} px wide in a window of ${width}`);
	}
}

async function shoot(page, name, options) {
	if (!config.shots)
		return;
	await page.emulateMedia({ colorScheme: options.dark ? 'dark' : 'light' });
	await page.setViewportSize({ width: options.width ?? 1280, height: options.height ?? 800 });
	await page.evaluate(() => {
		document.activeElement?.blur();
		scrollTo(0, 0);
	});
	await page.waitForTimeout(400);
	await page.screenshot({ path: join(config.shots, `${name}.png`) });
}

const shots = async (page, name) => {
	for (const [more, options] of [['', {}], ['-dark', { dark: true }], ['-phone', { width: 360, height: 740 }]])
		await shoot(page, name + more, options);
};

const rows = (page) => page.locator('tr[id^=row-]');

/* ---- live power ---- */

async function live(name) {
	const page = await open(name, config.live);
	await rows(page).first().waitFor();
	const ticks = await page.evaluate(() => performance.getEntriesByType('resource')
		.filter((r) => r.name.includes('api/v1/live')).length);
	await page.waitForFunction((n) => performance.getEntriesByType('resource')
		.filter((r) => r.name.includes('api/v1/live')).length > n + 2, ticks);
	await page.waitForFunction(() => /^\d/.test(document.querySelector('.big')?.textContent ?? ''));
	await page.locator('text=simulated: fake').first().waitFor();
	await page.locator('.sum b', { hasText: 'SIMULATED' }).waitFor();
	// A slot of history has come.
	await page.waitForFunction(() => /now \d/.test(document.querySelector('.chart')?.getAttribute('aria-label') ?? ''));
	await page.fill('input[type=search]', '<b>bold');
	await page.waitForFunction(() => [...document.querySelectorAll('.label')].some((l) => l.textContent === '<b>bold</b>'));
	expect(name, await page.locator('.scroller b').count() === 0, 'a name of a process became markup');
	await page.fill('input[type=search]', 'nobody has this name');
	await page.waitForFunction(() => ![...document.querySelectorAll('.label')].some((l) => l.textContent === '<b>bold</b>'));
	await accessible(name, page);
	await page.fill('input[type=search]', '');
	await shots(page, 'live');
	await looks(name, page);
	page.allowed.push('ERR_FAILED', 'Failed to load');
	await page.route('**/api/v1/live*', (route) => route.abort());
	await page.locator('.stale-mark').waitFor();
	await shoot(page, 'live-stale', {});
	await accessible(name, page);
	await page.unroute('**/api/v1/live*');
	await page.waitForFunction(() => !document.querySelector('.stale-mark'));
	await page.context().close();
}

async function keyboard(name) {
	const page = await open(name, config.live);
	await rows(page).first().waitFor();
	const active = () => page.evaluate(() => document.activeElement?.getAttribute('aria-activedescendant') ?? '');
	const focused = () => page.evaluate(() => document.activeElement?.getAttribute('role') ||
		document.activeElement?.getAttribute('aria-label') || document.activeElement?.textContent || '');
	for (let i = 0; i < 40 && !(await focused()).startsWith('treegrid'); i++)
		await page.keyboard.press('Tab');
	expect(name, await focused() === 'treegrid', 'Tab does not reach the tree');
	await page.keyboard.press('Home');
	expect(name, await active() === 'row-node', `Home is on ${await active()}`);
	await page.keyboard.press('ArrowDown');
	const group = await active();
	expect(name, group !== 'row-node' && group !== '', 'ArrowDown does not move');
	const state = () => page.locator(`#${group}`).getAttribute('aria-expanded');
	const before = await state();
	await page.keyboard.press('Enter');
	expect(name, await state() !== before, 'Enter does not fold');
	if (await state() !== 'true')
		await page.keyboard.press('ArrowRight');
	expect(name, await state() === 'true', 'ArrowRight does not unfold');
	await page.keyboard.press('ArrowLeft');
	expect(name, await state() === 'false', 'ArrowLeft does not fold');
	await page.keyboard.press('ArrowLeft');
	expect(name, await active() === 'row-node', 'ArrowLeft does not go up');
	await page.keyboard.press('Tab');
	await page.keyboard.press('Enter');
	await page.waitForFunction(() => document.querySelector('th[aria-sort=ascending]') !== null);
	await page.context().close();
}

/** An answer of a machine with many processes, hostile names among them. */
function crowd(tick) {
	const processes = [];
	for (let i = 0; i < PROCESSES; i++)
		processes.push([100 + i, 1 + i % 50, 1000 + i, i % 997 === 0 ? HOSTILE : `job-${(i * 7919) % PROCESSES}`,
			(i * 31337) % 4001, i % 13]);
	const groups = [];
	for (let i = 1; i <= 50; i++)
		groups.push([i, 0, 'container', i === 1 ? HOSTILE : '', 'docker', String(i).repeat(64).slice(0, 64), 1000 * i, 10, 200]);
	return {
		tick, age_ms: 100, interval_ms: 60000, whole: tick === 1,
		node: { name: HOSTILE, sum: ['package', 'dram'], zones: [{ zone: 'package', name: HOSTILE, source: 'model', estimated: true,
			model: HOSTILE, model_from: HOSTILE, mae_watts: 2, idle: 'scaled', extrapolating: true,
			dynamic_watts: 100, idle_watts: 20, idle_known: true },
		{ zone: 'dram', name: 'dram', source: 'rapl-sysfs', estimated: false, missing: HOSTILE }] },
		processes, ended: [], groups, newest: 100 + PROCESSES, living: PROCESSES, left_out: 0, task_source: 'proc',
	};
}

async function many(name) {
	let tick = 0;
	const page = await open(name, config.live, {
		before: (p) => p.route('**/api/v1/live*', (route) => route.fulfill({ json: crowd(++tick) })),
	});
	await rows(page).first().waitFor();
	await page.click('text=List');
	await page.waitForFunction((n) => document.querySelector('[role=treegrid]').getAttribute('aria-rowcount') === String(n + 1), PROCESSES);
	await page.evaluate(() => performance.clearMeasures());
	// Other programs may have the processor: the best of them counts, and more are tried.
	let took = [];
	for (let i = 0; i < SORTS || (i < SORTS_MAX && !(took[0] < SORT_MS)); i++) {
		await page.click(`.sorter >> text=${['Name', 'Power W'][i % 2]}`);
		took = await page.evaluate(() => performance.getEntriesByName('tallywatt-rows').map((m) => m.duration));
		took.sort((a, b) => a - b);
	}
	figures.sort_ms = { best: took[0], median: took[Math.floor(took.length / 2)], worst: took.at(-1), count: took.length };
	expect(name, took.length >= SORTS, `${took.length} sorts were measured`);
	expect(name, took[0] < SORT_MS, `${PROCESSES} rows take ${took[0]} ms`);
	expect(name, await page.locator('tbody tr').count() < 200, 'rows out of sight are in the document');
	await accessible(name, page);
	await page.click('text=Tree');
	await page.fill('input[type=search]', 'onerror');
	await page.waitForFunction(() => document.querySelectorAll('tr[id^=row-]').length > 5);
	expect(name, await page.evaluate(() => window.hurt === undefined && document.querySelector('.scroller img, .zones img') === null),
		'a hostile name became markup');
	expect(name, (await page.textContent('.zones')).includes(HOSTILE), 'a hostile name is not shown as it is');
	expect(name, (await page.textContent('.big')).startsWith('unknown'), 'an unknown zone was added up as 0 W');
	await shots(page, 'many');
	await looks(name, page);
	await page.context().close();
}

/* ---- models ---- */

async function models(name) {
	const page = await open(name, config.models);
	await page.locator('tr.link').first().waitFor();
	const count = await page.locator('tr.link').count();
	await shots(page, 'models-list');
	await looks(name, page);
	await page.setViewportSize({ width: 1280, height: 800 });
	await page.selectOption('label:has-text("Output") select', 'AbsPower');
	await page.waitForFunction((n) => document.querySelectorAll('tr.link').length < n, count);
	await page.locator('tr.link a').first().focus();
	await page.keyboard.press('Enter');
	await page.locator('#model').waitFor();
	await page.locator('.chart canvas').first().waitFor();
	expect(name, (await page.textContent('.side')).includes('power rises with load'), 'no certificate');
	expect(name, await page.locator('.plots img').count() > 0, 'no validation plots');
	await page.waitForFunction(() => [...document.querySelectorAll('.plots img')].slice(0, 1).every((i) => i.complete && i.naturalWidth > 0));
	await page.fill('#explain-cores', '32');
	await page.fill('#explain-processor', HOSTILE);
	await page.keyboard.press('Enter');
	await page.locator('.answer').waitFor();
	await shots(page, 'models');
	await looks(name, page);
	await page.evaluate(() => {
		location.hash = '#//elsewhere.example/x';
	});
	await page.locator('text=There is no such model').waitFor();
	await shoot(page, 'models-none', {});
	await accessible(name, page);
	await page.context().close();
}

/* ---- jobs ---- */

async function jobs(name) {
	const page = await open(name, config.jobs);
	await page.locator('input[type=checkbox]').nth(1).waitFor();
	await shoot(page, 'jobs-list', {});
	await accessible(name, page);
	await page.locator('input[type=checkbox]').nth(0).check();
	await page.locator('input[type=checkbox]').nth(1).check();
	await page.locator('#compare').waitFor();
	await page.locator('text=Recordings of the second').waitFor();
	await page.locator('button:has-text("Report")').first().click();
	await page.locator('#report').waitFor();
	await page.locator('summary').first().waitFor();
	// Now, so that it is not complete before it is cancelled.
	const posted = await page.request.post(new URL('/api/v1/train', config.jobs).href, {
		headers: { 'Content-Type': 'application/json' }, data: readFileSync(config.long),
	});
	expect(name, posted.status() === 202, `the training was not taken: ${posted.status()}`);
	await page.locator('button[aria-label^="Cancel the training"]').first().waitFor();
	await shots(page, 'jobs');
	await page.setViewportSize({ width: 1280, height: 800 });
	await page.locator('button[aria-label^="Cancel the training"]').first().focus();
	await page.keyboard.press('Enter');
	await page.locator('button[aria-label^="Cancel now"]').waitFor();
	await page.keyboard.press('Enter');
	await page.locator('.state.cancelled').waitFor();
	await shoot(page, 'jobs-cancelled', {});
	await looks(name, page);
	await page.context().close();
}

/* ---- units of work, on the page of the jobs ---- */

const value = (v) => ({ value: v, low: 0.9 * v, high: 1.1 * v });

function evaluations(count) {
	return Array.from({ length: count }, (_, i) => ({
		to: new Date(1700000000000 + 600000 * i).toISOString(), standing_watts: value(6),
		joules: [value(0.002 + 1e-5 * i), value(0.05)], r2: 0.99, residual_watts: 0.25, drift: i === count - 1,
	}));
}

async function units(name) {
	const counters = [{ name: 'prefill', selector: 'prompt_tokens_total' }, { name: 'decode', selector: HOSTILE }];
	const page = await open(name, config.jobs, {
		before: (p) => p.route('**/api/v1/units', (route) => route.fulfill({ json: { units: [
			{ unit: 'chat', energy: ['joules_total'], counters, problem: null, warnings: ['pass a longer --block'], evaluations: evaluations(40) },
			{ unit: 'lost', energy: ['joules_total'], counters, problem: HOSTILE, warnings: [], evaluations: [] },
		] } })),
	});
	const chat = page.locator('article[aria-label="Unit chat"]');
	await chat.locator('canvas').waitFor();
	const text = await chat.textContent();
	for (const part of ['0.00239', '0.05', '0.045 .. 0.055', '6.00', '5.40 .. 6.60', 'drifts', 'pass a longer --block', HOSTILE])
		expect(name, text.includes(part), `no ${part} in ${text}`);
	await chat.locator('select').selectOption({ label: 'standing W' });
	await chat.locator('[role=img][aria-label^="standing W"]').waitFor();
	expect(name, (await page.textContent('article[aria-label="Unit lost"]')).includes(HOSTILE), 'the problem is not told');
	expect(name, await page.evaluate(() => window.hurt === undefined), 'a hostile name became markup');
	await page.locator('summary:has-text("Choose workload")').focus();
	await page.keyboard.press('Enter');
	await page.locator('form input').fill('shop');
	await page.locator('form textarea').nth(0).fill('joules_total{pod="it\'s"}');
	await page.locator('form textarea').nth(1).fill('order=orders_total\n\nvisit=visits_total');
	expect(name, await page.textContent('#unit-command') === 'tallywatt unit --energy \'joules_total{pod="it\'\\\'\'s"}\' ' +
		'--work \'order=orders_total\' --work \'visit=visits_total\'', `the command is ${await page.textContent('#unit-command')}`);
	expect(name, JSON.stringify(JSON.parse(await page.textContent('#unit-entry'))) === JSON.stringify({
		name: 'shop', energy: ['joules_total{pod="it\'s"}'], work: ['order=orders_total', 'visit=visits_total'],
	}), 'the entry is another');
	await shots(page, 'units');
	await looks(name, page);
	await page.context().close();
}

/* ---- fleet ---- */

async function fleet(name) {
	const page = await open(name, config.fleet);
	const cells = page.locator('.cell');
	await page.waitForFunction((n) => document.querySelectorAll('.cell:not(.down)').length === n + 3, config.nodes);
	expect(name, await page.locator('.cell.down').count() === 1, 'the agent that is down is not marked');
	expect(name, (await page.textContent('.cell.down')).includes('down'), 'down is told by colour alone');
	const depth = (text) => page.locator(`.cell:has-text("${text}")`).evaluate((c) => parseInt(c.style.getPropertyValue('--depth'), 10));
	expect(name, await depth('rack3-node7') > await depth('rack1-node0'), 'more power is no deeper');
	// package and dram of each node that is up: 10 W and 7 W more a node, 5 W and 9 W; platform of one: 3 W.
	expect(name, await page.textContent('.sum b') === `${config.nodes + 2} MEASURED, 1 ESTIMATED`, `the headline says ${await page.textContent('.sum b')}`);
	const total = 2 * (config.nodes * 10 + 7 * config.nodes * (config.nodes - 1) / 2 + 5 + 9) + 3;
	const twins = await page.locator('.cell:has-text("twin")').allTextContents();
	expect(name, twins.length === 2 && twins.every((t) => t.includes('name used twice')), 'a name that is used twice is not marked');
	expect(name, twins.some((t) => t.includes('3.00 W')) && twins.some((t) => t.includes('18.0 W')), `the twins have ${twins}`);
	expect(name, (await page.textContent('.big')).startsWith(String(total)), `the sum is ${await page.textContent('.big')}, not ${total} W`);
	expect(name, await page.locator('.cell i').count() === 0, 'the name of a node became markup');
	expect(name, (await page.textContent('.cell:has-text("<i>node")')).includes('estimated'), 'an estimate is not marked');
	expect(name, await page.locator('section[aria-labelledby=namespaces] tbody tr').count() === 5, 'not five namespaces');
	const agents = page.locator('section[aria-labelledby=agents] tbody tr');
	expect(name, (await agents.first().textContent()).includes('down: '), 'agents that are down are not first');
	await page.locator('section[aria-labelledby=agents] .sorter').nth(2).focus();
	await page.keyboard.press('Enter');
	expect(name, (await agents.first().textContent()).includes('rack3-node7'), 'agents are not sorted by power');
	await page.fill('input[type=search]', 'rack2');
	await page.waitForFunction(() => document.querySelectorAll('.cell').length === 8);
	await accessible(name, page);
	await page.fill('input[type=search]', '');
	const asked = await page.evaluate(() => performance.getEntriesByType('resource').length);
	await page.waitForFunction((n) => performance.getEntriesByType('resource').length > n, asked);
	await shots(page, 'fleet');
	await looks(name, page);
	expect(name, await cells.count() === config.nodes + 4, 'nodes got lost');
	await page.context().close();
}

const began = Date.now();
await Promise.all([check('live', live), check('keyboard', keyboard), check('many', many), check('models', models), check('jobs', jobs), check('units', units), check('fleet', fleet)]);
await browser.close();
figures.seconds = (Date.now() - began) / 1000;
process.stdout.write(`${JSON.stringify({ wrong, figures })}\n`);
