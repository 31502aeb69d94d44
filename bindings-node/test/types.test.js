'use strict';

// What users' compilers and editors read from the package's types.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const { mkdtempSync, readFileSync, readdirSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { test } = require('node:test');
const { declare, types } = require('../scripts/types.js');

const root = join(__dirname, '..');

/** The one that makes the types, and a later one, which users have too. */
for (const compiler of ['typescript', 'typescript7']) {
  const compile = (project) => {
    const tsc = join(root, 'node_modules', compiler, 'bin/tsc');
    execFileSync(process.execPath, [tsc, '-p', join(__dirname, 'types', project)], { stdio: 'inherit' });
  };
  test(`the types are right (${compiler})`, () => compile('tsconfig.json'));
  test(`the types fit into Express 4 and Fastify 4 (${compiler})`, () => compile('older.json'));
}

test('the types are those of the sources', (t) => {
  const made = mkdtempSync(join(tmpdir(), 'sluicegate-'));
  t.after(() => rmSync(made, { recursive: true }));
  declare(made);
  const [stale] = differences(contents(types), contents(made));
  assert.equal(stale, undefined, `types/${stale} is not what the sources say: run "npm run types"`);
});

test('what is public has been given types', () => {
  for (const [name, text] of contents(types)) assert.doesNotMatch(text, /^(?! *\/?\*).*\bany\b/m, name);
});

function contents(folder) {
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

/** The names of files that only one of two folders has, or that differ. */
function differences(one, other) {
  const names = new Set([...one.keys(), ...other.keys()]);
  return [...names].filter((name) => one.get(name) !== other.get(name));
}
