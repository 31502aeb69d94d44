'use strict';

// Checks of one key that wait for the server together travel as one: each has the decision that it would have had in a row.

const assert = require('node:assert/strict');
const { connect } = require('node:net');
const { text } = require('node:stream/consumers');
const { test } = require('node:test');
const { ManualClock, RateLimiter } = require('../lib/index.js');
const { redisFor } = require('./servers.js');

const redis = redisFor('together');

const NOW_US = 1_700_000_000_123_456;
const LIMIT = 201;
const CALLERS = 64;
const ROUNDS = 5;
const RULES = {
  fixed_window: { algorithm: 'fixed_window' },
  first_request: { algorithm: 'fixed_window', window_start: 'first_request' },
  sliding_window: { algorithm: 'sliding_window' },
  list: { algorithm: 'sliding_log' },
  sorted_set: { algorithm: 'sliding_log', structure: 'sorted_set' },
  sliding_buckets: { algorithm: 'sliding_buckets' },
  gcra: { algorithm: 'gcra' },
};
const rules = Object.entries(RULES).map(([rule_id, fields]) => ({ rule_id, limit: LIMIT, window_size_seconds: 60, ...fields }));

/** In an order that does not depend on who came first. */
const figures = (decisions) =>
  decisions.map(({ allowed, remaining, retryAfterMs, resetAfterMs }) => [allowed, remaining, retryAfterMs, resetAfterMs].join()).sort();

async function inARow(rule) {
  const limiter = await RateLimiter.connect('memory://', { rules, clock: new ManualClock(NOW_US) });
  const decisions = [];
  while (decisions.length < CALLERS * ROUNDS) decisions.push(await limiter.check(rule, 'k'));
  await limiter.close();
  return decisions;
}

/** How many scripts the server has run. */
async function scripts(url) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write('INFO commandstats\r\nQUIT\r\n');
  const counts = (await text(socket)).matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

for (const rule of Object.keys(RULES)) {
  test(`checks of one key that wait together are decided in a row by few calls: ${rule}`, { timeout: 60_000 }, async () => {
    const { url, prefix } = redis();
    const limiter = await RateLimiter.connect(url, { rules, prefix, clock: new ManualClock(NOW_US) });
    const before = await scripts(url);
    const decisions = [];
    const caller = async () => {
      for (let round = 0; round < ROUNDS; round++) decisions.push(await limiter.check(rule, 'k'));
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
    const asked = (await scripts(url)) - before;
    const left = decisions.filter(({ allowed }) => allowed).map(({ remaining }) => remaining);
    assert.deepEqual(left.sort((a, b) => a - b), Array.from({ length: LIMIT }, (_, at) => at));
    assert.deepEqual(figures(decisions), figures(await inARow(rule)));
    assert.ok(asked * 4 <= CALLERS * ROUNDS, `${asked} scripts`);
    await limiter.close();
  });
}
