'use strict';

// Calls about one key under every rule, and the rules as data.

const assert = require('node:assert/strict');
const { after, before, test } = require('node:test');
const { ManualClock, RateLimiter, WrongTypeError } = require('sluicegate');
const { start } = require('./servers.js');

const RULES = [
  { rule_id: 'login', rate: '5/minute' },
  { rule_id: 'quota', algorithm: 'fixed_window', limit: 9, window: 'month', time_zone: 'Asia/Tokyo' },
  {
    rule_id: 'pool',
    algorithm: 'sliding_log',
    limits: [{ rate: '3/minute', scope: 'resource' }, { rate: '2/s' }],
  },
];

let servers;
before(async () => {
  servers = await start('redis', 'cluster');
});
after(() => servers.stop());

const remaining = (decision) => Object.fromEntries(decision.parts.map((part) => [part.rule, part.remaining]));

for (const backend of ['memory', 'redis', 'cluster']) {
  const connect = (prefix, rules) =>
    RateLimiter.connect(backend === 'memory' ? 'memory://' : servers[backend], {
      rules,
      prefix,
      clock: new ManualClock(1_760_000_000_000_000),
    });

  test(`a key is looked at, and forgotten, under every rule (${backend})`, async (t) => {
    const limiter = await connect('overview', RULES);
    t.after(() => limiter.close());
    await limiter.check('login', 'alice', { cost: 5 });
    await limiter.check('quota', 'alice', { cost: 2 });
    await limiter.check('pool', 'alice', { resource: 'printer' });
    const looked = await limiter.inspect('alice');
    assert.deepEqual([looked.allowed, looked.rule], [false, 'login']);
    assert.deepEqual(looked.parts, [await limiter.peek('login', 'alice'), await limiter.peek('quota', 'alice')]);
    assert.deepEqual(remaining(await limiter.inspect('alice', { resource: 'printer', timeoutMs: 5000 })), {
      login: 0,
      quota: 7,
      pool: 1,
    });

    assert.equal(await limiter.resetAll('alice'), undefined);
    const all = { resource: 'printer' };
    assert.deepEqual(remaining(await limiter.inspect('alice', all)), { login: 5, quota: 9, pool: 1 });
    await limiter.resetAll('alice', all);
    assert.equal(remaining(await limiter.inspect('alice', all)).pool, 2);
  });

  test(`many rules are looked at (${backend})`, async (t) => {
    const rules = Array.from({ length: 300 }, (_, at) => ({ rule_id: `r${at}`, rate: `${at + 1}/s` }));
    const limiter = await connect('many', rules);
    t.after(() => limiter.close());
    const { parts } = await limiter.inspect(['a', 'b']);
    assert.deepEqual(parts.map((part) => part.remaining), rules.map((_, at) => at + 1));
  });
}

test('mistakes are named', async (t) => {
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  t.after(() => limiter.close());
  for (const method of ['inspect', 'resetAll']) {
    await assert.rejects(limiter[method](''), { code: 'InvalidArgument', message: /the key is empty/ });
    await assert.rejects(limiter[method](7.5), WrongTypeError);
    await assert.rejects(limiter[method]('alice', { cost: 2 }), WrongTypeError);
  }
});

test('rules are data', async (t) => {
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  t.after(() => limiter.close());
  const rules = limiter.rules();
  assert.deepEqual(rules[1], { ...RULES[1], priority: 0 });
  const same = await RateLimiter.connect('memory://', { rules });
  t.after(() => same.close());
  assert.deepEqual(same.rules(), rules);
  const none = await RateLimiter.connect('memory://', { rules: [] });
  t.after(() => none.close());
  assert.equal((await none.inspect('alice')).ruleApplied, false);
});
