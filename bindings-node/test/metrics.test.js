// What a limiter counts, as values.

'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const { RateLimiter } = require('sluicegate');

const { redisFor } = require('./servers.js');

const backend = redisFor('metrics');
const rules = [{ rule_id: 'api', rate: '2/hour' }];

test('metrics are plain values', async () => {
  const limiter = await RateLimiter.connect('memory://', { rules, topDenied: 1 });
  for (let call = 0; call < 3; call++) await limiter.check('api', 'a key');
  const { rules: counted, servers, errors, rulesVersion, rulesRefusals, region } = limiter.metrics();
  assert.deepEqual(counted, {
    api: {
      decisions: { memory: { admitted: 2, denied: 1, shadowDenied: 0, blocked: 0, error: 0 } },
      cost: 2,
      waiting: 0,
      loans: { asked: 0, granted: 0, spent: 0, givenBack: 0, lost: 0 },
      topDenied: [{ key: 'a key', denied: 1, overstated: 0 }],
    },
  });
  assert.deepEqual(servers, {});
  assert.equal(errors.Timeout, 0);
  assert.deepEqual([rulesVersion, rulesRefusals, region], [limiter.rulesStatus().version, 0, null]);
  limiter.close();
});

test('metrics tell of servers and round trips', async () => {
  const { url, prefix } = backend();
  const limiter = await RateLimiter.connect(url, { rules, prefix });
  await limiter.check('api', 'k');
  const { servers, roundTrips } = limiter.metrics();
  assert.deepEqual(Object.values(servers), [{ breakerOpen: false, breakerOpenings: 0 }]);
  assert.ok(roundTrips.count >= 1 && roundTrips.sumMs > 0);
  assert.deepEqual([roundTrips.buckets[0].atMostMs, roundTrips.buckets.at(-1).atMostMs], [0.05, 1000]);
  limiter.close();
});

test('a rule of any name keeps it', async () => {
  const limiter = await RateLimiter.connect('memory://', { rules: [{ rule_id: 'given_back', rate: '1/hour' }] });
  assert.deepEqual(Object.keys(limiter.metrics().rules), ['given_back']);
  limiter.close();
});
