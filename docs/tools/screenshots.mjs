// Shows pages of the built site in Chromium, light and dark, wide and narrow: screenshots.mjs SITE FOLDER [PAGE...]
// CHROMIUM names the browser.

import { createServer } from 'node:http';
import { mkdirSync, readFileSync } from 'node:fs';
import { extname, join, normalize } from 'node:path';
import { chromium } from 'playwright-core';

const [site, folder, ...chosen] = process.argv.slice(2);
const pages = chosen.length > 0 ? chosen : ['', 'algorithms/', 'rules/', 'how-it-works/', 'benchmarks/', 'comparison/'];
const kinds = { '.css': 'text/css', '.html': 'text/html', '.js': 'text/javascript', '.svg': 'image/svg+xml' };
const sizes = { wide: { width: 1400, height: 1000 }, narrow: { width: 390, height: 844 } };

const server = createServer((request, response) => {
  const path = normalize(new URL(request.url, 'http://localhost').pathname);
  const file = join(site, path.endsWith('/') ? `${path}index.html` : path);
  try {
    const body = readFileSync(file);
    response.writeHead(200, { 'content-type': kinds[extname(file)] ?? 'application/octet-stream' }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((started) => server.listen(0, '127.0.0.1', started));
mkdirSync(folder, { recursive: true });

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
let troubles = 0;
for (const [size, viewport] of Object.entries(sizes)) {
  for (const colorScheme of ['light', 'dark']) {
    const page = await browser.newPage({ viewport, colorScheme });
    page.on('console', (message) => message.type() === 'error' && trouble(page, message.text()));
    page.on('response', (response) => response.status() >= 400 && trouble(page, `${response.status()} ${response.url()}`));
    for (const path of pages) {
      await page.goto(`http://127.0.0.1:${server.address().port}/${path}`);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (overflow > 0) trouble(page, `${size}: the page is ${overflow} pixels too wide`);
      const name = path.replace(/\/$/, '').replaceAll('/', '-') || 'index';
      // Tabs fade in.
      await page.waitForTimeout(400);
      await page.screenshot({ path: join(folder, `${name}-${size}-${colorScheme}.png`), fullPage: true });
    }
    await page.close();
  }
}
await browser.close();
server.close();
process.exitCode = troubles > 0 ? 1 : 0;

function trouble(page, text) {
  troubles += 1;
  console.error(`${page.url()}: ${text}`);
}
