'use strict';

// Units that a process borrows of its server: who decides then, and what an idle process gives back.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { setTimeout: sleep } = require('node:timers/promises');
const { RateLimiter } = require('../lib/index.js');
const { redisFor } = require('./servers.js');

const redis = redisFor('leases');

const RULES = ['user', 'tenant'].map((rule_id) => ({
  rule_id,
  algorithm: 'fixed_window',
  window_start: 'first_request',
  rate: '100000/hour',
  lease: { max_age_ms: 1000, pace_ms: 100 },
}));
const BOTH = [
  { rule: 'user', key: 'k' },
  { rule: 'tenant', key: 'k' },
];

/** Calls until units were borrowed of which more than one is left. Returns how many calls were admitted. */
async function borrow(limiter) {
  for (let calls = 1; calls < 20_000; calls += 1) {
    const decision = await limiter.checkAll(BOTH);
    assert.ok(decision.allowed);
    if (decision.source === 'lease' && decision.remaining > 1) return calls;
    await sleep(1);
  }
  throw new Error('nothing is borrowed');
}

test('an idle process gives back what it borrowed for several items', { timeout: 60_000 }, async () => {
  const { url, prefix } = redis();
  const limiter = await RateLimiter.connect(url, { rules: RULES, prefix });
  const watching = await RateLimiter.connect(url, { rules: RULES, prefix });
  const used = async (rule) => 100_000 - (await watching.peek(rule, 'k')).remaining;
  const calls = await borrow(limiter);
  for (const rule of ['user', 'tenant']) {
    while ((await used(rule)) !== calls) await sleep(20);
  }
  await limiter.close();
  await watching.close();
});

test('a check with borrowed units is answered before the loop turns', { timeout: 60_000 }, async () => {
  const { url, prefix } = redis();
  const limiter = await RateLimiter.connect(url, { rules: RULES.slice(0, 1), prefix });
  const borrowed = async (options) => {
    for (;;) {
      let answer;
      const pending = limiter.check('user', 'k', options).then((decision) => (answer = decision));
      // Promises that are kept are seen to, and nothing else.
      await Promise.resolve().then(() => {});
      if (answer !== undefined) return answer;
      assert.equal((await pending).source, 'server');
    }
  };
  assert.deepEqual([(await borrowed()).source, (await borrowed({ cost: 2 })).source], ['lease', 'lease']);
  // What no cell knows, the server decides.
  assert.equal((await limiter.check('user', 'k', { requestId: 'once' })).source, 'server');
  assert.equal((await limiter.peek('user', 'k')).source, 'server');
  await limiter.close();
});

test('a remembered denial comes after the refund that was called before it', { timeout: 60_000 }, async () => {
  const { url, prefix } = redis();
  const rules = [{ rule_id: 'api', rate: '1/day' }];
  const limiter = await RateLimiter.connect(url, { rules, prefix, rememberDenialsMs: 60_000 });
  const source = async () => (await limiter.check('api', 'k')).source;
  assert.deepEqual([await source(), await source(), await source()], ['server', 'server', 'cache']);
  const [, { allowed }] = await Promise.all([limiter.refund('api', 'k'), limiter.check('api', 'k')]);
  assert.ok(allowed);
  await limiter.close();
});

test('who is denied again and again keeps nobody from running', { timeout: 60_000 }, async () => {
  const { url, prefix } = redis();
  const limiter = await RateLimiter.connect(url, { rules: [{ rule_id: 'api', rate: '1/day' }], prefix, rememberDenialsMs: 60_000 });
  let turns = 0;
  const turn = () => {
    turns += 1;
    if (turns < 3) setImmediate(turn);
  };
  setImmediate(turn);
  while (turns < 3) await limiter.check('api', 'k');
  await limiter.close();
});
