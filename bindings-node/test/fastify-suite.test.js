'use strict';

// The tests that @fastify/rate-limit comes with, on our store.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { readdirSync } = require('node:fs');
const { dirname, join } = require('node:path');
const { describe, test } = require('node:test');
const { pathToFileURL } = require('node:url');

const folder = join(dirname(require.resolve('@fastify/rate-limit')), 'test');
const ours = pathToFileURL(join(__dirname, 'suites/fastify-rate-limit.mjs'));

/** What they are about is no part of the store: a server of their own, and what the store refuses. */
const OTHERS = ['redis-rate-limit.test.js', 'exponential-backoff.test.js'];

function run(file) {
  // What a test within this test would tell its parent is not text.
  const { NODE_TEST_CONTEXT, ...env } = process.env;
  const options = ['--test', '--test-reporter=tap', '--import', ours.href, file];
  return new Promise((resolve) => execFile(process.execPath, options, { env }, (error, out, errors) => resolve(`${out}${errors}`)));
}

// They sleep more than they work.
describe('@fastify/rate-limit', { concurrency: 4 }, () => {
  for (const file of readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.test.js') && !OTHERS.includes(name))) {
    test(file, async () => {
      const out = await run(join(folder, file));
      const failed = out.split('\n').filter((line) => /^not ok .* - /.test(line) && !/exponentialBackoff/.test(line));
      assert.deepEqual(failed, [], out);
      assert.match(out, /^# pass [1-9]/m, out);
    });
  }
});
