// loader.mjs MODULES TARBALLS: what the package says where there is no native part for it, and what becomes of it in
// bundles. The output is that of Node's test runner.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const [modules, tarballs] = process.argv.slice(2);
const { build } = createRequire(join(modules, 'x.js'))('esbuild');
const platforms = JSON.parse(readFileSync(new URL('../../.github/release/platforms.json', import.meta.url), 'utf8'));
const packed = readdirSync(tarballs).filter((name) => name.endsWith('.tgz'));
const RULES = JSON.stringify([{ rule_id: 'a', algorithm: 'gcra', limit: 1, window_size_seconds: 60 }]);
const PROGRAM = `const { RateLimiter } = require('sluicegate');
RateLimiter.connect('memory://', { rules: ${JSON.stringify(RULES)} })
  .then((limiter) => limiter.check('a', 'b'))
  .then(({ allowed }) => console.log(allowed));`;

/** A project with the package of JavaScript and, if wanted, that of this platform. */
function project(t, { native = false } = {}) {
  const place = mkdtempSync(join(tmpdir(), 'sluicegate-'));
  t.after(() => rmSync(place, { recursive: true }));
  for (const name of packed) {
    const [, platform] = /^sluicegate-([a-z].*)-\d+\.\d+\.\d+.*\.tgz$/.exec(name) ?? [];
    if (platform === undefined || native) unpack(name, join(place, 'node_modules', platform ? `@sluicegate/${platform}` : 'sluicegate'));
  }
  writeFileSync(join(place, 'main.js'), PROGRAM);
  return place;
}

function unpack(name, folder) {
  mkdirSync(folder, { recursive: true });
  execFileSync('tar', ['-xzf', join(tarballs, name), '--strip-components=1', '-C', folder]);
}

/** Runs a script; returns what it wrote. */
function run(place, script, ...options) {
  return spawnSync(process.execPath, [...options, script], { cwd: place, encoding: 'utf8' });
}

/** A script that is run first, and pretends to be another machine. */
function machine(place, values) {
  const lines = Object.entries(values).map(([name, value]) => `Object.defineProperty(process, '${name}', { value: ${value} });`);
  writeFileSync(join(place, 'machine.js'), lines.join('\n'));
  return ['--require', './machine.js'];
}

test('the native part is found', (t) => {
  assert.equal(run(project(t, { native: true }), 'main.js').stdout, 'true\n');
});

test('the package of a platform can be required by its name', (t) => {
  const place = project(t, { native: true });
  const [name] = readdirSync(join(place, 'node_modules/@sluicegate'));
  writeFileSync(join(place, 'static.js'), `console.log(typeof require('@sluicegate/${name}').open)`);
  assert.equal(run(place, 'static.js').stdout, 'function\n');
});

test('without the package of the platform the error names it, and what to do about each cause', (t) => {
  const { stderr, status } = run(project(t), 'main.js');
  assert.notEqual(status, 0);
  for (const words of ['@sluicegate/linux-', 'is not installed', '--omit=optional', 'bundler', 'from source']) {
    assert.match(stderr, new RegExp(words));
  }
});

test('on a system without a prebuilt package the error names those that have one', (t) => {
  const place = project(t, { native: true });
  const { stderr } = run(place, 'main.js', ...machine(place, { platform: '"sunos"' }));
  assert.match(stderr, /no native part for sunos-x64: there is no prebuilt package/);
  for (const { name } of platforms) assert.ok(stderr.includes(name), name);
});

test('on a system with musl it is the package for musl that is asked for', (t) => {
  const place = project(t, { native: true });
  const report = '{ getReport: () => ({ header: {} }) }';
  assert.match(run(place, 'main.js', ...machine(place, { report })).stderr, /@sluicegate\/linux-\w+-musl is not installed/);
});

test('a native part that cannot be loaded says why', (t) => {
  const place = project(t, { native: true });
  const folder = join(place, 'node_modules/@sluicegate');
  for (const name of readdirSync(folder)) writeFileSync(join(folder, name, 'sluicegate.node'), 'no library');
  assert.match(run(place, 'main.js').stderr, /cannot be loaded: .*\n?.*glibc 2\.17/);
});

/** Bundles the program into another folder, where there are no packages. */
async function bundle(t, place, options) {
  const outfile = join(mkdtempSync(join(tmpdir(), 'sluicegate-')), 'bundle.js');
  t.after(() => rmSync(join(outfile, '..'), { recursive: true }));
  await build({ entryPoints: [join(place, 'main.js')], outfile, bundle: true, platform: 'node', logLevel: 'silent', ...options });
  return outfile;
}

test('esbuild says which package it lacks, rather than to leave it out', async (t) => {
  await assert.rejects(bundle(t, project(t), {}), /Could not resolve "@sluicegate\//);
});

test('in a bundle of esbuild the error names the bundler and the remedy', async (t) => {
  const outfile = await bundle(t, project(t), { external: ['@sluicegate/*'] });
  assert.match(run(tmpdir(), outfile).stderr, /bundler \(esbuild, webpack\).*declare "sluicegate" external/);
});

test('as an external package of esbuild it works', async (t) => {
  const place = project(t, { native: true });
  await bundle(t, place, { external: ['sluicegate'], outfile: join(place, 'bundle.js') });
  assert.equal(run(place, 'bundle.js').stdout, 'true\n');
});

test('as an external package of webpack it works', (t) => {
  const place = project(t, { native: true });
  const config = { mode: 'production', target: 'node', entry: './main.js', externals: { sluicegate: 'commonjs sluicegate' }, output: { path: place, filename: 'bundle.js' } };
  const script = `require(${JSON.stringify(join(modules, 'webpack'))})(${JSON.stringify({ ...config, context: place })}, (error, stats) => {
    if (error || stats.hasErrors()) throw error ?? new Error(stats.toString());
  });`;
  writeFileSync(join(place, 'pack.js'), script);
  assert.equal(run(place, 'pack.js').status, 0);
  assert.equal(run(place, 'bundle.js').stdout, 'true\n');
});
