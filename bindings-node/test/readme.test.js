'use strict';

// The examples of the README do what it says.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { readFileSync } = require('node:fs');
const { createServer } = require('node:http');
const { join } = require('node:path');
const { test } = require('node:test');
const express = require('express');
const fastify = require('fastify');
const sluicegate = require('sluicegate');
const { rateLimit: forExpress } = require('sluicegate/express');
const { rateLimit: forFastify } = require('sluicegate/fastify');
const { ask } = require('./http.js');

const examples = examplesOf('../README.md');
const AsyncFunction = (async () => {}).constructor;

function examplesOf(readme) {
  const text = readFileSync(join(__dirname, readme), 'utf8');
  return [...text.matchAll(/```js\n([^]*?)```/g)].map(([, code]) => code.replace(/^import .*$/gm, ''));
}

/** Runs an example, with what it takes as given, and returns the lines that it logs. */
async function run(example, given = {}) {
  const lines = [];
  const names = { ...sluicegate, ...given, console: { log: (line) => lines.push(String(line)) } };
  await new AsyncFunction(...Object.keys(names), example)(...Object.values(names));
  return lines;
}

const orders = join(__dirname, '../../examples/orders.jsonc');
const rules = [{ rule_id: 'login', algorithm: 'gcra', limit: 5, window_size_seconds: 60 }];

test('ten lines', async () => {
  const admitted = [4, 3, 2, 1, 0].map((left) => `admitted, ${left} left`);
  assert.deepEqual(await run(examples[0]), [...admitted, 'denied, retry in 12 s']);
});

test('Express', async (t) => {
  let server;
  const app = express();
  app.listen = () => (server = createServer(app).listen(0, '127.0.0.1'));
  await run(examples[1], { express: () => app, rateLimit: forExpress });
  t.after(() => server.close());
  await once(server, 'listening');
  assert.deepEqual(await statuses(server), [200, 200, 200, 200, 200, 429]);
});

test('Fastify', async (t) => {
  const app = fastify();
  const listen = app.listen.bind(app);
  app.listen = () => listen({ port: 0, host: '127.0.0.1' });
  await run(examples[2], { fastify: () => app, rateLimit: forFastify });
  t.after(() => app.close());
  assert.deepEqual(await statuses(app.server), [200, 200, 200, 200, 200, 429]);
});

async function statuses(server) {
  const { port } = server.address();
  const statuses = [];
  for (let time = 0; time < 6; time++) statuses.push((await ask(port, '/login', { method: 'POST' })).status);
  return statuses;
}

test('a handler of your own', async () => {
  const limiter = await sluicegate.RateLimiter.connect('memory://', { rules: orders });
  const answered = [];
  const response = { setHeaders: (all) => answered.push(...all.keys()) };
  const request = { method: 'GET', url: '/orders/7', headers: {}, socket: { remoteAddress: '203.0.113.9' } };
  await run(examples[3], { limiter, request, response, user: 'alice' });
  assert.deepEqual(answered, ['RateLimit-Policy', 'RateLimit']);
});

test('why a rule applies', async () => {
  const limiter = await sluicegate.RateLimiter.connect('memory://', { rules: orders });
  assert.deepEqual(await run(examples[4], { limiter }), [
    'login_attempts_per_ip: path_pattern: "/login" does not match "/orders/7"',
    'api_user_get_orders: requires_authentication: the request has no user_id',
  ]);
});

test('a clock that is moved', async () => {
  assert.deepEqual(await run(examples[5], { rules }), ['1']);
});

test('coming from a counter per key', async () => {
  assert.deepEqual(await run(examples[6]), ['0', 'true', '0']);
});

test('the README of the repository', async () => {
  const [block, ...others] = examplesOf('../../README.md');
  assert.deepEqual([await run(block), others], [['admitted, 4 left'], []]);
});
