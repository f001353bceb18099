// SPDX-License-Identifier: Apache-2.0
//
// Bundle the pages, compress them, and write them as C.
//
//   node web/build.mjs OUT MODULES
//
// OUT gets live.inc, models.inc and jobs.inc: the files of a daemon's pages as gzip in arrays, and
// a table of them; and sizes.txt. MODULES is the node_modules folder. The same sources and
// tools give the same bytes.
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const SOURCES = join(dirname(fileURLToPath(import.meta.url)), 'src');
/** The pages of each daemon. The first is at "/", another at "/" and its name. */
const DAEMONS = [['live', 'fleet'], ['models'], ['jobs']];
const METRICS = '; as metrics: <a href="metrics">metrics</a>';
/** The title of a page, and where its figures are for who has no JavaScript. */
const PAGES = {
	live: ['Live power', `<a href="api/v1/power">api/v1/power</a>${METRICS}`],
	fleet: ['Fleet', `<a href="api/v1/agents?level=namespace">api/v1/agents</a>${METRICS}`],
	models: ['Models', '<a href="api/v1/models">api/v1/models</a>'],
	jobs: ['Jobs', '<a href="api/v1/jobs">api/v1/jobs</a>'],
};
const LIMIT_BYTES = 60 * 1024;

const [out, modules] = process.argv.slice(2).map((path) => resolve(path));
const esbuild = createRequire(join(modules, 'x.js'))('esbuild');

/** The text of a bundle. All pages share library.js, which is therefore left out of theirs. */
async function bundle(name, options) {
	const { outputFiles } = await esbuild.build({
		entryPoints: [join(SOURCES, name)],
		bundle: true,
		minify: true,
		write: false,
		charset: 'utf8',
		legalComments: 'none',
		target: 'es2022',
		nodePaths: [modules],
		logLevel: 'warning',
		...options,
	});
	return outputFiles[0].contents;
}

const script = (name) => bundle(name, { format: 'esm', external: ['./library.js'] });

const html = (page) => Buffer.from(readFileSync(join(SOURCES, 'page.html'), 'utf8')
	.replace('@page@', page).replace('@title@', PAGES[page][0]).replace('@links@', PAGES[page][1]));

/** The library itself is an entry point, which `external` would leave out. */
const library = () => bundle('library.js', { format: 'esm' });

function packed(name, type, data) {
	const gzip = gzipSync(data, { level: 9 });
	gzip[9] = 255; // the system that packed it: unknown, so that all give the same bytes
	const sum = createHash('sha256').update(gzip).digest('hex').slice(0, 16);
	return { name, type, gzip, length: data.length, etag: `W/\\"${sum}\\"` };
}

function bytesOf(data) {
	const lines = [];
	for (let i = 0; i < data.length; i += 24)
		lines.push(`\t${[...data.subarray(i, i + 24)].join(',')},`);
	return lines.join('\n');
}

function cOf(page, files) {
	const arrays = files.map((f, i) =>
		`static const unsigned char file_${i}[] = {\n${bytesOf(f.gzip)}\n};\n`);
	const rows = files.map((f, i) =>
		`\t{ "${f.name}", "${f.type}", "${f.etag}", file_${i}, sizeof(file_${i}), ${f.length} },\n`);
	return `/* Made by web/build.mjs of the sources in web/src: ${page}. */\n${arrays.join('')}` +
		`static const struct tw_web_file files[] = {\n${rows.join('')}};\n`;
}

const shared = [
	packed('library.js', 'text/javascript; charset=utf-8', await library()),
	packed('style.css', 'text/css; charset=utf-8', await bundle('style.css', {})),
	packed('icon.svg', 'image/svg+xml', readFileSync(join(SOURCES, 'icon.svg'))),
];
const sizes = shared.map((f) => [f.name, f.gzip.length]);

mkdirSync(out, { recursive: true });
for (const pages of DAEMONS) {
	const own = [];
	for (const page of pages)
		own.push(packed(page === pages[0] ? '' : page, 'text/html; charset=utf-8', html(page)),
			packed(`${page}.js`, 'text/javascript; charset=utf-8', await script(`${page}.js`)));
	sizes.push(...own.map((f) => [f.name || `${pages[0]}.html`, f.gzip.length]));
	writeFileSync(join(out, `${pages[0]}.inc`), cOf(pages[0], [...own, ...shared]));
}

const total = sizes.reduce((sum, [, n]) => sum + n, 0);
const table = [...sizes, ['total', total], ['limit', LIMIT_BYTES]]
	.map(([name, n]) => `${name} ${n}\n`).join('');
writeFileSync(join(out, 'sizes.txt'), table);
if (total > LIMIT_BYTES) {
	process.stderr.write(`web: ${total} bytes compressed, limit is ${LIMIT_BYTES}\n${table}`);
	process.exit(1);
}
