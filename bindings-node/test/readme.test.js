'use strict';

// The examples of the README do what it says.

const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { test } = require('node:test');
const sluicegate = require('sluicegate');

const readme = readFileSync(join(__dirname, '../README.md'), 'utf8');
const examples = [...readme.matchAll(/```js\n([^]*?)```/g)].map(([, code]) => code.replace(/^import .*$/m, ''));
const AsyncFunction = (async () => {}).constructor;

/** Runs an example, with what it takes as given, and returns the lines that it logs. */
async function run(number, given = {}) {
  const lines = [];
  const names = { ...sluicegate, ...given, console: { log: (line) => lines.push(String(line)) } };
  await new AsyncFunction(...Object.keys(names), examples[number])(...Object.values(names));
  return lines;
}

const rules = [{ rule_id: 'login', algorithm: 'gcra', limit: 5, window_size_seconds: 60 }];

test('ten lines', async () => {
  const admitted = [4, 3, 2, 1, 0].map((left) => `admitted, ${left} left`);
  assert.deepEqual(await run(0), [...admitted, 'denied, come back in 12 s']);
});

test('a handler for Express', async () => {
  const limiter = await sluicegate.RateLimiter.connect('memory://', { rules });
  let handler;
  await run(1, { limiter, app: { post: (_, limited) => (handler = limited) } });
  const statuses = [];
  const response = { set: () => response, status: (status) => (statuses.push(status), response), send() {} };
  for (let time = 0; time < 7; time++) await handler({ ip: '203.0.113.9' }, response, () => statuses.push('next'));
  assert.deepEqual(statuses, ['next', 'next', 'next', 'next', 'next', 429, 429]);
});

test('a clock that is moved', async () => {
  assert.deepEqual(await run(2, { rules }), ['1']);
});

test('coming from a counter per key', async () => {
  assert.deepEqual(await run(3), ['0', 'true', '0']);
});
