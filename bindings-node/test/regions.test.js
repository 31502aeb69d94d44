'use strict';

// One limit over two regions: one with a single server, one with a Cluster.

const assert = require('node:assert/strict');
const { after, before, test } = require('node:test');
const { RateLimiter } = require('sluicegate');
const { start } = require('./servers.js');

const RULES = [{ rule_id: 'all', algorithm: 'fixed_window', limit: 10, window_size_seconds: 86400, global: {} }];

let servers;
before(async () => (servers = await start('redis', 'cluster')));
after(() => servers.stop());

const regions = () => ({ eu: servers.redis, us: servers.cluster });
const open = (region, more) => RateLimiter.connect('', { rules: RULES, regions: regions(), region, ...more });

test('limiters of two regions share one limit', async () => {
  const [here, there] = [await open('eu'), await open('us')];
  for (let number = 0; number < 8; number++) {
    const calls = Array.from({ length: 40 }, (_, call) => [here, there][call % 2].check('all', `user-${number}`));
    const decisions = await Promise.all(calls);
    assert.equal(decisions.filter((decision) => decision.allowed).length, 10);
    for (const limiter of [here, there]) assert.equal((await limiter.check('all', `user-${number}`)).allowed, false);
  }
  await Promise.all([here.close(), there.close()]);
});

test('a region that is cut off decides by its part', async () => {
  const gone = { regions: { ...regions(), us: 'redis://127.0.0.1:1' }, regionParts: { eu: 0.4, us: 0.6 }, prefix: 'cut-off' };
  const limiter = await open('eu', gone);
  const admitted = { server: new Set(), share: new Set() };
  for (let number = 0; number < 20; number++) {
    let count = 0;
    let source;
    for (let call = 0; call < 12; call++) {
      const decision = await limiter.check('all', `user-${number}`);
      count += Number(decision.allowed);
      source = decision.source;
    }
    admitted[source].add(count);
  }
  assert.deepEqual(admitted, { server: new Set([10]), share: new Set([4]) });
  await limiter.close();
});

test('regions that make no sense are refused', async () => {
  await assert.rejects(open('asia'), { code: 'InvalidArgument', message: 'region "asia" is not among regions; it has to be "eu" or "us"' });
  await assert.rejects(open('eu', { regions: 'eu' }), { name: 'WrongTypeError' });
});
