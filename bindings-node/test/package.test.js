'use strict';

// How the package is loaded.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { test } = require('node:test');

const root = join(__dirname, '..');

test('ESM and CommonJS give the same classes and functions', async () => {
  const { exports } = require('sluicegate/package.json');
  for (const place of Object.keys(exports).filter((place) => place !== './package.json')) {
    const name = join('sluicegate', place);
    const [esm, common] = [await import(name), require(name)];
    assert.deepEqual(Object.keys(esm).sort(), Object.keys(common).sort());
    for (const name of Object.keys(common)) assert.equal(esm[name], common[name]);
  }
});

test('nothing private can be loaded', () => {
  assert.throws(() => require('sluicegate/lib/native.js'), { code: 'ERR_PACKAGE_PATH_NOT_EXPORTED' });
});

test('the version is that of the Rust workspace', () => {
  const metadata = execFileSync('cargo', ['metadata', '--no-deps', '--format-version', '1'], { cwd: root });
  const { version } = JSON.parse(metadata).packages.find(({ name }) => name === 'sluicegate-node');
  assert.equal(require('sluicegate/package.json').version, version);
});

test('the tool has all that it has elsewhere', () => {
  const tool = (...words) => execFileSync(process.execPath, [join(root, 'bin/sluicegate.js'), ...words], { encoding: 'utf8' });
  assert.match(tool('completions', 'bash'), /complete .*sluicegate/);
  const folder = mkdtempSync(join(tmpdir(), 'sluicegate-'));
  try {
    const lines = tool('lab', '[{"rule_id": "a", "rate": "5/s"}]', '--traffic', 'steady:rate=10/s', '--duration', '10s', '--out', folder);
    assert.match(lines, /\ba\b/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
