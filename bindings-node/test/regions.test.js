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

test('items of both regions are charged together, or not at all', async () => {
  const [here, there] = [await open('eu'), await open('us')];
  const keys = Array.from({ length: 8 }, (_, number) => `together-${number}`);
  const items = keys.map((key) => ({ rule: 'all', key }));
  let last;
  for (let call = 0; call < 8; call++) {
    last = await [here, there][call % 2].checkAll(items);
    assert.deepEqual([last.allowed, last.source], [true, 'server']);
  }
  assert.deepEqual(last.parts.map((part) => part.remaining), keys.map(() => 2));
  assert.equal((await here.check('all', keys[3], { cost: 2 })).allowed, true);
  const denied = await there.checkAll(items);
  assert.deepEqual([denied.allowed, denied.rule], [false, 'all']);
  assert.deepEqual(denied.parts.map((part) => part.allowed), keys.map((key) => key !== keys[3]));
  const left = await Promise.all(keys.map((key) => there.peek('all', key)));
  assert.deepEqual(left.map((decision) => decision.remaining), keys.map((key) => (key === keys[3] ? 0 : 2)));
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
