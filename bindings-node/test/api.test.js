'use strict';

// What each method answers, in memory and on Redis.

const assert = require('node:assert/strict');
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { after, before, test } = require('node:test');
const { ManualClock, RateLimiter } = require('sluicegate');
const { start } = require('./servers.js');

const RULES = [
  { rule_id: 'login', algorithm: 'gcra', limit: 2, window_size_seconds: 60 },
  { rule_id: 'orders', algorithm: 'fixed_window', limit: 10, window_size_seconds: 1 },
  { rule_id: 'trial', algorithm: 'fixed_window', limit: 1, window_size_seconds: 1, shadow: true },
  {
    rule_id: 'printer',
    algorithm: 'sliding_log',
    limits: [
      { limit: 3, window_size_seconds: 10 },
      { limit: 5, window_size_seconds: 10, scope: 'resource' },
    ],
  },
];

let servers;
before(async () => (servers = await start('redis')));
after(() => servers.stop());

/** A test in memory and on Redis, with a limiter and a clock of its own. */
function everywhere(name, body) {
  for (const backend of ['memory', 'redis']) {
    test(`${name} (${backend})`, async () => {
      const clock = new ManualClock();
      const url = backend === 'memory' ? 'memory://' : servers.redis;
      const limiter = await RateLimiter.connect(url, { rules: RULES, clock, prefix: name });
      await body(limiter, clock, backend);
      await limiter.close();
    });
  }
}

everywhere('a decision has all fields', async (limiter, _, backend) => {
  assert.deepEqual(await limiter.check('login', 'alice'), {
    allowed: true,
    rule: 'login',
    ruleApplied: true,
    limit: 2,
    windowMs: 60_000,
    remaining: 1,
    retryAfterMs: 0,
    resetAfterMs: 30_000,
    shadow: false,
    shadowDenied: false,
    blocked: false,
    replicated: false,
    source: backend === 'memory' ? 'memory' : 'server',
    parts: [],
  });
});

everywhere('a denial says when to retry', async (limiter, clock) => {
  await limiter.check('login', 'alice', { cost: 2 });
  const denial = await limiter.check('login', 'alice');
  assert.deepEqual([denial.allowed, denial.retryAfterMs], [false, 30_000]);
  clock.advance(30_000 - 0.001);
  assert.equal((await limiter.check('login', 'alice')).allowed, false);
  clock.advance(0.001);
  assert.equal((await limiter.check('login', 'alice')).allowed, true);
});

everywhere('what never fits never comes', async (limiter) => {
  assert.equal((await limiter.check('login', 'alice', { cost: 3 })).retryAfterMs, Infinity);
});

everywhere('a limit for one call', async (limiter) => {
  const decision = await limiter.check('orders', 'gold', { cost: 50, limit: 100 });
  assert.deepEqual([decision.allowed, decision.limit, decision.remaining], [true, 100, 50]);
});

everywhere('a peek changes nothing', async (limiter) => {
  for (let time = 0; time < 3; time++) assert.equal((await limiter.peek('login', 'alice')).remaining, 2);
});

everywhere('a refund and a reset give back', async (limiter) => {
  await limiter.check('orders', 'alice', { cost: 8 });
  assert.equal((await limiter.refund('orders', 'alice', { cost: 3 })).remaining, 5);
  assert.equal(await limiter.reset('orders', 'alice'), undefined);
  assert.equal((await limiter.peek('orders', 'alice')).remaining, 10);
});

everywhere('a resource has a limit of its own', async (limiter) => {
  const use = (key) => limiter.check('printer', key, { resource: 'hall', cost: 3 });
  assert.equal((await use('alice')).allowed, true);
  assert.equal((await use('bob')).allowed, false);
  await limiter.reset('printer', 'alice', { resource: 'hall' });
  assert.equal((await limiter.peek('printer', 'alice', { resource: 'hall' })).remaining, 2);
});

everywhere('several are charged together or not at all', async (limiter) => {
  const items = [{ rule: 'orders', key: 'alice', cost: 4 }, { rule: 'login', key: 'alice' }];
  const both = await limiter.checkAll(items);
  assert.deepEqual([both.allowed, both.rule, both.parts.map((part) => part.rule)], [true, 'login', ['orders', 'login']]);
  await limiter.check('login', 'alice');
  const denial = await limiter.checkAll(items);
  assert.deepEqual([denial.allowed, denial.rule, denial.parts[0].allowed], [false, 'login', true]);
  assert.equal((await limiter.peek('orders', 'alice')).remaining, 6);
});

everywhere('more items than the mailbox has rows', async (limiter) => {
  const items = Array.from({ length: 1000 }, (_, number) => ({ rule: 'orders', key: `key ${number}` }));
  const decision = await limiter.checkAll(items);
  assert.equal(decision.parts.length, 1000);
  assert.ok(decision.parts.every((part) => part.remaining === 9));
});

everywhere('a rule in shadow admits', async (limiter) => {
  await limiter.check('trial', 'alice');
  const decision = await limiter.check('trial', 'alice');
  assert.deepEqual([decision.allowed, decision.shadow, decision.shadowDenied], [true, true, true]);
});

everywhere('a wait moves the manual clock on', async (limiter, clock) => {
  await limiter.check('login', 'alice', { cost: 2 });
  assert.equal((await limiter.wait('login', 'alice', { timeoutMs: 29_999 })).allowed, false);
  assert.equal(clock.nowUs, 0);
  assert.equal((await limiter.wait('login', 'alice', { timeoutMs: Infinity })).allowed, true);
  assert.equal(clock.nowUs, 30_000_000);
});

everywhere('many calls in one turn are answered each', async (limiter) => {
  const keys = Array.from({ length: 2000 }, (_, number) => `user ${number % 500} ü€😀`);
  const decisions = await Promise.all(keys.map((key) => limiter.check('orders', key)));
  assert.equal(decisions.filter((decision) => decision.remaining === 6).length, 500);
});

everywhere('keys of every length and script are distinguished', async (limiter) => {
  const keys = ['a', 'a\0', 'é', 'e\u0301', '\u0080', '鍵', '😀', 'x'.repeat(63), 'x'.repeat(64), 'x'.repeat(65), 'x'.repeat(100_000)];
  for (const [at, key] of keys.entries()) {
    await limiter.checkAll([{ rule: 'orders', key, cost: at % 5 + 1 }]);
    assert.equal((await limiter.check('orders', key, { cost: 4 })).remaining, 5 - at % 5, `key ${at}`);
  }
});

everywhere('failures and decisions of one batch do not mix', async (limiter) => {
  const costs = [1, 0, 2, 0, 3];
  const settled = await Promise.allSettled(costs.map((cost) => limiter.check('orders', 'alice', { cost })));
  const answers = settled.map(({ value, reason }) => value?.remaining ?? reason.code);
  assert.deepEqual(answers, [9, 'InvalidArgument', 7, 'InvalidArgument', 4]);
});

everywhere('a server that is there answers a ping', async (limiter) => {
  assert.equal(await limiter.ping(), undefined);
});

everywhere('a call has no option of the call before it', async (limiter) => {
  const limits = { orders: 10, login: 2 };
  const left = { ...limits };
  for (const rule of ['orders', 'login', 'orders']) {
    await limiter.peek(rule, 'alice', { cost: 3, limit: 4, timeoutMs: 1_000 });
    const { limit, remaining } = await limiter.check(rule, 'alice');
    left[rule] -= 1;
    assert.deepEqual({ limit, remaining }, { limit: limits[rule], remaining: left[rule] });
  }
});

test('a wait sleeps by the real clock, and can be given up', async () => {
  const rules = [{ rule_id: 'slow', algorithm: 'uniform', limit: 1, window_size_seconds: 0.2 }];
  for (const url of ['memory://', servers.redis]) {
    const limiter = await RateLimiter.connect(url, { rules, prefix: 'sleep' });
    await limiter.check('slow', 'alice');
    const began = performance.now();
    assert.equal((await limiter.wait('slow', 'alice', { timeoutMs: 5000 })).allowed, true);
    assert.ok(performance.now() - began >= 100);
    const wait = limiter.wait('slow', 'alice', { timeoutMs: 5000, signal: AbortSignal.timeout(20) });
    await assert.rejects(wait, { name: 'TimeoutError' });
    await assert.rejects(limiter.wait('slow', 'alice', { timeoutMs: 5000, signal: AbortSignal.abort() }), {
      name: 'AbortError',
    });
    assert.equal((await limiter.wait('slow', 'alice', { timeoutMs: 5000 })).allowed, true);
    await limiter.close();
  }
});

test('waits take turns, and those given up leave', async () => {
  const rules = [{ rule_id: 'quick', algorithm: 'uniform', limit: 20, window_size_seconds: 1 }];
  for (const url of ['memory://', servers.redis]) {
    const limiter = await RateLimiter.connect(url, { rules, prefix: 'turns' });
    const [admitted, leaving] = [[], new AbortController()];
    const began = performance.now();
    const waits = Array.from({ length: 40 }, async (_, number) => {
      const signal = number % 2 ? leaving.signal : undefined;
      const options = { timeoutMs: 20_000, signal };
      const { allowed, parts } = await limiter.waitAll([{ rule: 'quick', key: 'k' }], options);
      assert.ok(allowed && parts.length === 1);
      admitted.push(number);
    });
    setTimeout(() => leaving.abort(), 20);
    await Promise.allSettled(waits);
    // Before they were given up, some may have been admitted.
    assert.deepEqual(admitted, [...admitted].sort((one, other) => one - other));
    assert.deepEqual(admitted.filter((number) => number % 2 === 0), Array.from({ length: 20 }, (_, at) => 2 * at));
    assert.ok(admitted.length < 30);
    // One every 50 ms: each sleeps no longer than it has to.
    const took = performance.now() - began;
    assert.ok(took > 900 && took < 3000, `${took} ms`);
    await limiter.close();
  }
});

test('rules are a path, JSON text, an array or an object', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluicegate-'));
  const path = join(folder, 'rules.jsonc');
  writeFileSync(path, `// rules\n${JSON.stringify(RULES)}`);
  const forms = [path, `/* rules */ ${JSON.stringify(RULES)}`, RULES, { rules: RULES }];
  for (const rules of forms) {
    const limiter = await RateLimiter.connect('memory://', { rules });
    assert.equal((await limiter.check('login', 'alice')).limit, 2);
  }
  rmSync(folder, { recursive: true });
});

test('a manual clock shows the time that was set', () => {
  const clock = new ManualClock(5);
  clock.advance(1.5);
  assert.equal(clock.nowUs, 1505);
  clock.set(2 ** 53);
  clock.advance(1);
  assert.equal(clock.nowUs, 2 ** 53);
});
