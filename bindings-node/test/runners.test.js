'use strict';

// The limiter for tests, in the runners that applications have. `test/run previous` installs them.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { test } = require('node:test');

const root = join(__dirname, '..');
const RUNNERS = {
  jest: ['jest/bin/jest.js', '--testMatch', '**/test/runners/jest.js', '--testEnvironment', 'node'],
  vitest: ['vitest/vitest.mjs', 'run', '--config', 'test/runners/vitest.config.mjs'],
};

for (const [name, [program, ...words]] of Object.entries(RUNNERS)) {
  const path = join(root, 'node_modules', program);
  test(`its fake timers move the clock: ${name}`, { skip: !existsSync(path) && 'installed by `test/run previous`' }, () => {
    const ran = spawnSync(process.execPath, [path, ...words], { cwd: root, encoding: 'utf8', timeout: 120_000 });
    const output = `${ran.stdout}${ran.stderr}`;
    assert.equal(ran.status, 0, output);
    assert.match(output, /2 passed/);
  });
}
