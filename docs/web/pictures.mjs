// SPDX-License-Identifier: Apache-2.0
// Pictures of live power: node pictures.mjs MODULES URL DIR
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [modules, url, dir] = process.argv.slice(2);
const { chromium } = createRequire(join(modules, 'x.js'))('playwright-core');
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'] });
for (const [name, width, height] of [['live', 1280, 860], ['live-phone', 360, 740]]) {
	const page = await browser.newPage({ viewport: { width, height } });
	await page.goto(url);
	await page.locator('tr[id^=row-]').nth(3).waitFor();
	await page.locator('.label', { hasText: /^web$/ }).click();
	await page.keyboard.press('ArrowRight');
	await page.evaluate(() => {
		document.activeElement.blur();
		scrollTo(0, 0);
	});
	await page.waitForTimeout(2500);
	await page.screenshot({ path: join(dir, `${name}.png`) });
}
await browser.close();
