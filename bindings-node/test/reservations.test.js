'use strict';

// Usage that is known late, as programs in JavaScript see it; what is decided, the vectors show.

const assert = require('node:assert/strict');
const { after, before, test } = require('node:test');
const { execFileSync } = require('node:child_process');
const { setTimeout: setTimeoutPromise } = require('node:timers/promises');
const { RateLimiter, Reservation } = require('sluicegate');
const { start } = require('./servers.js');

const rules = [
  { rule_id: 'tokens', algorithm: 'fixed_window', limit: 10, window_size_seconds: 3600, reservations: true },
  { rule_id: 'jobs', algorithm: 'concurrency', limit: 2 },
];

let servers;
before(async () => (servers = await start('redis')));
after(() => servers.stop());

/** The same on every backend, for a key of its own. */
function everywhere(name, run) {
  test(name, async () => {
    for (const url of ['memory://', servers.redis]) {
      const limiter = await RateLimiter.connect(url, { rules, prefix: name });
      await run(limiter, async () => (await limiter.peek('tokens', 'alice')).remaining);
      await limiter.close();
    }
  });
}

everywhere('a reservation is a decision and more', async (limiter) => {
  const held = await limiter.reserve('tokens', 'alice', { cost: 4 });
  const denied = await limiter.reserve('tokens', 'alice', { cost: 7 });
  assert.ok(held instanceof Reservation && held.allowed && held.remaining === 6 && held.token > 0);
  assert.ok(!denied.allowed && denied.id === undefined && denied.token === undefined);
  for (const end of ['commit', 'release', 'renew']) assert.equal(await denied[end](), false);
});

everywhere('ending twice takes effect once', async (limiter, left) => {
  const held = await limiter.reserve('tokens', 'alice', { cost: 4 });
  assert.ok((await held.renew()) && (await limiter.commit(held.id, 3)));
  assert.ok(!(await held.commit()) && !(await held.release()) && !(await limiter.renew(held)));
  assert.equal(await left(), 7);
});

everywhere('costs by rule and by place', async (limiter, left) => {
  const items = [{ rule: 'tokens', key: 'alice', cost: 4 }, { rule: 'jobs', key: 'alice' }];
  assert.ok(await (await limiter.reserveAll(items)).commit({ tokens: 1 }));
  assert.equal(await left(), 9);
  assert.ok(await (await limiter.reserveAll(items)).commit([2]));
  assert.equal(await left(), 7);
});

everywhere('disposal commits what was not ended', async (limiter, left) => {
  await (await limiter.reserve('tokens', 'alice', { cost: 3 }))[Symbol.asyncDispose]();
  assert.equal(await left(), 7);
  const released = await limiter.reserve('tokens', 'alice', { cost: 3 });
  await released.release();
  await released[Symbol.asyncDispose]();
  await (await limiter.reserve('tokens', 'alice', { cost: 8 }))[Symbol.asyncDispose]();
  assert.equal(await left(), 7);
});

everywhere('costs that make no sense end nothing', async (limiter, left) => {
  const held = await limiter.reserve('tokens', 'alice', { cost: 4 });
  await assert.rejects(held.commit('3'), { name: 'WrongTypeError', message: 'cost: must be a number, not string' });
  await assert.rejects(held.commit({ tokens: '3' }), { name: 'WrongTypeError', message: /^cost\["tokens"\]: must be a number/ });
  await assert.rejects(held.commit({ '': 3 }), { code: 'InvalidArgument' });
  await assert.rejects(held.commit(-1), { code: 'InvalidArgument', message: /^cost -1: must be a whole number, at least 0/ });
  await assert.rejects(limiter.commit(5), { name: 'WrongTypeError', message: /^reservation: must be a Reservation or its id/ });
  assert.ok(await held.release());
  assert.equal(await left(), 10);
});

everywhere('a closed limiter ends nothing', async (limiter) => {
  const held = await limiter.reserve('tokens', 'alice');
  await limiter.close();
  for (const end of ['commit', 'release', 'renew']) await assert.rejects(held[end](), { code: 'Closed' });
  await assert.rejects(limiter.reserve('tokens', 'alice'), { code: 'Closed' });
});

everywhere('a wait ends with what is given back', async (limiter) => {
  const held = await limiter.reserve('jobs', 'alice', { cost: 2 });
  const began = performance.now();
  assert.equal((await limiter.reserve('jobs', 'alice', { waitMs: 150 })).allowed, false);
  assert.ok(performance.now() - began >= 149);
  const waiting = limiter.reserveAll([{ rule: 'jobs', key: 'alice' }], { waitMs: Infinity });
  setTimeout(() => held.release(), 30);
  const made = await waiting;
  assert.ok(made.allowed && performance.now() - began < 10_000);
  await made.release();
});

everywhere('waits take turns', async (limiter) => {
  const order = [];
  let inside = 0;
  let most = 0;
  const work = async (number) => {
    const held = await limiter.reserve('jobs', 'alice', { waitMs: 30_000 });
    assert.ok(held.allowed);
    order.push(number);
    most = Math.max(most, ++inside);
    // Long enough that two meet.
    await setTimeoutPromise(2);
    inside--;
    await held.release();
  };
  await Promise.all(Array.from({ length: 50 }, (_, number) => work(number)));
  assert.deepEqual(order, [...order.keys()]);
  assert.equal(most, 2);
});

everywhere('what is given up loses no place', async (limiter) => {
  let cut = 0;
  for (let round = 0; round < 100; round++) {
    const controller = new AbortController();
    const { signal } = controller;
    // In every other round all that wait are given up.
    const others = round % 2 ? await limiter.reserve('jobs', 'alice', { cost: 2, waitMs: 5000 }) : undefined;
    const calls = Array.from({ length: 8 }, async (_, each) => {
      const held = await limiter.reserve('jobs', 'alice', each % 2 ? { waitMs: 30_000, signal } : { signal });
      await held.release();
    });
    await setTimeoutPromise(round % 5);
    controller.abort();
    const ends = await Promise.allSettled(calls);
    await others?.release();
    for (const { reason } of ends.filter(({ status }) => status === 'rejected')) assert.equal(reason.name, 'AbortError');
    cut += ends.filter(({ status }) => status === 'rejected').length;
  }
  assert.ok(cut >= 200, `${cut}`);
  const held = await limiter.reserve('jobs', 'alice', { cost: 2, waitMs: 5000 });
  assert.ok(held.allowed);
  await held.release();
});

everywhere('a wait that makes no sense is refused', async (limiter) => {
  await assert.rejects(limiter.reserve('jobs', 'alice', { waitMs: -1 }), { code: 'InvalidArgument', message: 'wait must be 0 or more' });
  await assert.rejects(limiter.reserve('jobs', 'alice', { signal: 1 }), { name: 'WrongTypeError', message: /^signal: must be an AbortSignal/ });
  await assert.rejects(limiter.reserveAll([{ rule: 'jobs', key: 'alice' }], { cost: 2 }), { name: 'WrongTypeError' });
});

test('another process ends it by its id', async () => {
  const limiter = await RateLimiter.connect(servers.redis, { rules, prefix: 'processes' });
  const { id } = await limiter.reserve('tokens', 'alice', { cost: 4 });
  const program = `
    const { RateLimiter } = require('sluicegate');
    const [url, rules, id] = process.argv.slice(1);
    RateLimiter.connect(url, { rules, prefix: 'processes' }).then((limiter) => limiter.commit(id, 1)).then(console.log);`;
  const words = ['-e', program, servers.redis, JSON.stringify(rules), id];
  assert.equal(execFileSync(process.execPath, words, { encoding: 'utf8', cwd: __dirname }).trim(), 'true');
  assert.equal((await limiter.peek('tokens', 'alice')).remaining, 9);
  await limiter.close();
});

const RENEWED = [{ rule_id: 'jobs', algorithm: 'concurrency', limit: 1, lease_seconds: 0.4 }];

/** Whether another job may run within this time. */
async function freeWithin(limiter, ms) {
  for (const until = performance.now() + ms; performance.now() < until; await setTimeoutPromise(50)) {
    if ((await limiter.peek('jobs', 'report')).allowed) return true;
  }
  return false;
}

test('what is renewed outlives its lease, and a block that does not is warned of', async (t) => {
  const limiter = await RateLimiter.connect(servers.redis, { rules: RENEWED, prefix: 'renewed' });
  t.after(() => limiter.close());
  const warnings = [];
  const note = ({ message }) => warnings.push(message);
  process.on('warning', note);
  t.after(() => process.off('warning', note));

  const held = await limiter.reserve('jobs', 'report', { renewed: true });
  assert.equal(await freeWithin(limiter, 1200), false);
  await held[Symbol.asyncDispose]();
  assert.equal(await freeWithin(limiter, 100), true);
  const all = await limiter.reserveAll([{ rule: 'jobs', key: 'report' }], { renewed: true });
  assert.equal(await freeWithin(limiter, 1200), false);
  assert.equal(await all.commit(), true);
  assert.deepEqual(warnings, []);

  const lost = await limiter.reserve('jobs', 'report');
  assert.equal(await freeWithin(limiter, 5000), true);
  await lost[Symbol.asyncDispose]();
  await setTimeoutPromise(10);
  assert.match(warnings.join(), /^the lease of a reservation under rule "jobs" was over/);
  assert.equal(await lost.commit(), false);
  await assert.rejects(limiter.reserve('jobs', 'a', { renewed: 1 }), { name: 'WrongTypeError', message: 'renewed: must be a boolean, not number' });
});

test('a limiter that is closed renews nothing more', async (t) => {
  const limiter = await RateLimiter.connect(servers.redis, { rules: RENEWED, prefix: 'closed' });
  const warnings = [];
  const note = ({ message }) => warnings.push(message);
  process.on('warning', note);
  t.after(() => process.off('warning', note));

  const held = await limiter.reserve('jobs', 'report', { renewed: true });
  await limiter.close();
  const closed = 'a reservation under rule "jobs" could not be renewed: the limiter is closed';
  for (const until = performance.now() + 20_000; !warnings.length && performance.now() < until; await setTimeoutPromise(50));
  await setTimeoutPromise(500); // in which it would have been tried ten times
  assert.deepEqual(warnings, [closed]);
  assert.equal(held.allowed, true); // and was not forgotten
});
