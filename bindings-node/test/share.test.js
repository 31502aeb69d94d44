'use strict';

// Processes that use a part of the limits: always, or while no server decides.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { RateLimiter } = require('../lib/index.js');

const RULES = [{ rule_id: 'api', rate: '100/hour', fallback: 'local' }];

test('instances change while the limiter runs', async () => {
  const limiter = await RateLimiter.connect('redis://127.0.0.1:1', { rules: RULES, share: 0.5, instances: 5 });
  assert.equal((await limiter.check('api', 'a')).remaining, 9);
  limiter.setInstances(25);
  assert.equal((await limiter.check('api', 'b')).remaining, 1);
  for (const wrong of [0, 1.5, 1_000_001]) {
    assert.throws(() => limiter.setInstances(wrong), { code: 'InvalidArgument', message: /from 1 to 1000000/ });
  }
  await limiter.close();
});

test('a lazy limiter is made while the server is away', async () => {
  const options = { rules: [{ rule_id: 'api', rate: '100/hour' }] };
  await assert.rejects(RateLimiter.connect('redis://127.0.0.1:1', options), { code: 'Connection' });
  const limiter = await RateLimiter.connect('redis://127.0.0.1:1', { ...options, lazy: true });
  await assert.rejects(limiter.check('api', 'a'), { code: 'Connection' });
  await limiter.close();
});
