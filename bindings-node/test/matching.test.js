'use strict';

// Requests that choose their rules: the vectors of tests/vectors/matching, whose README describes them, and what
// is peculiar to Node.

const assert = require('node:assert/strict');
const { readdirSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const { after, before, test } = require('node:test');
const { RateLimiter, headers } = require('sluicegate');
const { start } = require('./servers.js');

const folder = join(process.env.SLUICEGATE_VECTORS ?? join(__dirname, '../../tests/vectors'), 'matching');
const vectors = readdirSync(folder)
  .filter((name) => name.endsWith('.json') && name !== 'schema.json')
  .sort()
  .flatMap((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')).vectors);

const RULES = [
  {
    rule_id: 'user',
    algorithm: 'fixed_window',
    limit: 3,
    window_size_seconds: 60,
    identifier_type: 'user_id',
    match: {},
  },
  {
    rule_id: 'client',
    algorithm: 'gcra',
    limit: 10,
    window_size_seconds: 60,
    priority: -1,
    identifier_type: 'header:x-client',
    match: { path_pattern: '/orders/*' },
  },
];
const ORDER = { method: 'GET', path: '/orders/7', userId: 'alice', headers: { 'X-Client': 'mobile' } };

let servers;
let limiters;
before(async () => {
  servers = await start('redis');
  limiters = await Promise.all(['memory://', servers.redis].map((url) => RateLimiter.connect(url, { rules: RULES })));
});
after(async () => {
  for (const limiter of limiters) await limiter.close();
  await servers.stop();
});

test('vectors of matching', async () => {
  const cases = vectors.flatMap(({ id, rules, cases }) =>
    cases.map((it, at) => ({ name: `${id}, case ${at}`, rules, ...it })),
  );
  const failed = [];
  for (const it of cases) await play(it).catch((error) => failed.push(`${it.name}: ${error.message}`));
  console.log(`matching: Node: ${cases.length - failed.length} of ${cases.length} cases passed`);
  assert.equal(failed.join('\n'), '');
  assert.ok(cases.length > 100);
});

async function play({ rules, request, matches, reasons, error, argument }) {
  const camel = (name) => name.replace(/_[a-z]/g, ([, letter]) => letter.toUpperCase());
  const asked = Object.fromEntries(Object.entries(request).map(([name, value]) => [camel(name), value]));
  const limiter = await RateLimiter.connect('memory://', { rules });
  if (error !== undefined) {
    const expected = { code: error, message: new RegExp(`^(${argument}|${camel(argument)}) `) };
    assert.throws(() => limiter.matchRequest(asked), expected);
    assert.throws(() => limiter.matchRequest(asked, { explain: true }), expected);
    return assert.rejects(limiter.checkRequest(asked), expected);
  }
  const expected = matches.map(({ rule_id: ruleId, ...rest }) => ({ ruleId, ...rest }));
  assert.deepEqual(limiter.matchRequest(asked), expected);
  const explained = limiter.matchRequest(asked, { explain: true });
  const why = expected.map((match) => ({ ...match, matched: true, reason: 'every condition holds' }));
  assert.deepEqual(explained.filter(({ matched }) => matched), why);
  const others = explained.filter(({ matched }) => !matched).map(({ ruleId, reason }) => [ruleId, reason]);
  if (reasons !== undefined) assert.deepEqual(Object.fromEntries(others), reasons);
  const decision = await limiter.checkRequest(asked);
  const parts = decision.parts.map(({ rule }) => rule);
  assert.deepEqual(parts, matches.map(({ rule_id }) => rule_id));
  assert.deepEqual([decision.allowed, decision.ruleApplied], [true, matches.length > 0]);
}

test('a request is decided by all of its rules', async () => {
  for (const limiter of limiters) {
    const first = await limiter.checkRequest(ORDER);
    assert.deepEqual([first.rule, first.ruleApplied, first.remaining, first.windowMs], ['user', true, 2, 60_000]);
    assert.deepEqual(first.parts.map(({ rule, remaining }) => [rule, remaining]), [['client', 9], ['user', 2]]);
    await limiter.checkRequest(ORDER);
    await limiter.checkRequest(ORDER);
    const denial = await limiter.checkRequest(ORDER);
    assert.deepEqual([denial.allowed, denial.rule, denial.parts[0].allowed], [false, 'user', true]);
    // What a request charges is what a call by name charges.
    assert.equal((await limiter.peek('client', 'mobile')).remaining, 7);
  }
});

test('headers come in every form that there is for them', () => {
  const pairs = [['a', '1'], ['X-Client', 'x'], ['x-client', 'y']];
  const asNodeHasThem = { 'x-client': ['x', 'y'], none: undefined };
  const keys = (headers) => limiters[0].matchRequest({ ...ORDER, headers }).map(({ key }) => key);
  for (const headers of [pairs, asNodeHasThem]) assert.deepEqual(keys(headers), ['x', 'y', 'x, y', 'x,y', 'alice']);
  for (const headers of [new Headers(pairs), new Map([['x-client', 'x, y']])]) {
    assert.deepEqual(keys(headers), ['x, y', 'alice']);
  }
});

test('what is null or empty is absent', () => {
  const nobody = { method: 'GET', path: '/', userId: null, ip: null, apiKey: '' };
  assert.deepEqual(limiters[0].matchRequest(nobody), []);
});

test('a request with more headers, and one with more rules, than the mailbox has rows', async () => {
  const rules = Array.from({ length: 700 }, (_, number) => ({
    rule_id: `rule ${number}`.replace(' ', '_'),
    algorithm: 'fixed_window',
    limit: 1000,
    window_size_seconds: 3600,
    identifier_type: 'header:x-999',
    match: {},
  }));
  const headers = Array.from({ length: 1000 }, (_, number) => [`x-${number}`, `value ${number} ü€😀`]);
  for (const url of ['memory://', servers.redis]) {
    const limiter = await RateLimiter.connect(url, { rules, prefix: 'many' });
    const single = limiter.check('rule_0', 'early');
    const decisions = await Promise.all([1, 2].map(() => limiter.checkRequest({ method: 'GET', path: '/', headers })));
    assert.deepEqual(decisions.map(({ parts }) => parts.length), [700, 700]);
    assert.deepEqual(decisions[1].parts.map(({ rule }) => rule), rules.map(({ rule_id }) => rule_id));
    assert.equal((await single).remaining, 999);
    assert.equal((await limiter.peek('rule_699', 'value 999 ü€😀')).remaining, 998);
    await limiter.close();
  }
});

test('an in-memory limiter needs no other thread', async () => {
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  const threads = () => readdirSync('/proc/self/task').length;
  const before = threads();
  await limiter.checkRequest(ORDER);
  assert.equal(threads(), before);
});

for (const [name, request, message] of [
  ['no request', undefined, 'request: must be an object, not undefined'],
  ['a request that is none', 5, 'request: must be an object, not number'],
  ['a field misspelt', { ...ORDER, user_id: 'a' }, /^request: user_id is not known/],
  ['a method that is missing', { path: '/' }, 'method: must be a string, not undefined'],
  ['a path that is none', { method: 'GET', path: 5 }, 'path: must be a string, not number'],
  ['other paths that are none', { ...ORDER, otherPaths: '/a' }, 'otherPaths: must be an array of strings, not string'],
  ['another path that is none', { ...ORDER, otherPaths: [5] }, 'otherPaths: must be a string, not number'],
  ['a header of keys that is none', { ...ORDER, apiKeyHeader: 5 }, 'apiKeyHeader: must be a string, not number'],
  ['capitals that are no choice', { ...ORDER, ignoreCase: 'no' }, 'ignoreCase: must be a boolean, not string'],
  ['a user that is none', { ...ORDER, userId: true }, 'userId: must be a string or an integer, not boolean'],
  ['headers that are none', { ...ORDER, headers: 'a' }, 'headers: must be an object or a list of pairs, not string'],
  ['a header that is no pair', { ...ORDER, headers: ['ab'] }, 'headers: must be pairs of a name and a value'],
  ['a value that is none', { ...ORDER, headers: { a: 1 } }, 'headers: must be a string, not number'],
]) {
  test(`${name} is a WrongTypeError`, async () => {
    await assert.rejects(limiters[0].checkRequest(request), { name: 'WrongTypeError', message });
    assert.throws(() => limiters[0].matchRequest(request), { name: 'WrongTypeError', message });
  });
}

test('options of matching are checked', () => {
  const matched = (options) => () => limiters[0].matchRequest(ORDER, options);
  assert.throws(matched({ explain: 1 }), { name: 'WrongTypeError', message: 'explain: must be a boolean, not number' });
  assert.throws(matched({ explained: true }), { name: 'WrongTypeError', message: /explained is not known/ });
});

test('a closed limiter admits no request', async () => {
  for (const url of ['memory://', servers.redis]) {
    const limiter = await RateLimiter.connect(url, { rules: RULES });
    await limiter.close();
    await assert.rejects(limiter.checkRequest(ORDER), { code: 'Closed' });
    await assert.rejects(limiter.checkRequest({ method: 'GET', path: '/' }), { code: 'Closed' });
  }
});

test('headers of an answer', async () => {
  const [limiter] = limiters;
  const of = (userId) => limiter.checkRequest({ ...ORDER, path: '/', userId });
  const admitted = await of('bob');
  assert.match(headers(admitted).RateLimit, /^"user";r=2;t=\d+$/);
  assert.equal(headers(admitted)['RateLimit-Policy'], '"user";q=3;w=60');
  assert.deepEqual(Object.keys(headers(admitted, 'x-ratelimit')), [
    'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset',
  ]);
  const [unix, seconds] = ['x-ratelimit', 'x-ratelimit-seconds'].map((style) => headers(admitted, style)['X-RateLimit-Reset']);
  assert.ok(seconds > 0 && seconds <= 60, seconds);
  assert.ok(Math.abs(unix - seconds - Date.now() / 1000) < 30, unix);
  const both = await limiter.checkRequest({ ...ORDER, userId: 'bob' });
  assert.match(headers(both).RateLimit, /^"client";r=\d;t=\d+, "user";r=1;t=\d+$/);
  await of('bob');
  const denied = await of('bob');
  assert.equal(headers(denied)['Retry-After'], String(Math.ceil(denied.retryAfterMs / 1000)));
  assert.deepEqual([headers(admitted, 'none'), Object.keys(headers(denied, 'none'))], [{}, ['Retry-After']]);
  // A decision is a plain object, and a copy is as good.
  assert.deepEqual(headers(structuredClone(denied)), headers(denied));
  assert.deepEqual(headers(await limiter.checkRequest({ method: 'GET', path: '/' })), {});
});

test('rules in shadow have no headers', async () => {
  const rules = [{ ...RULES[0], rule_id: 'trial', shadow: true }, RULES[1]];
  const limiter = await RateLimiter.connect('memory://', { rules });
  const both = await limiter.checkRequest(ORDER);
  assert.deepEqual(both.parts.map(({ shadow }) => shadow), [false, true]);
  assert.equal(headers(both)['RateLimit-Policy'], '"client";q=10;w=60');
  const trial = await limiter.check('trial', 'alice', { cost: 3 });
  assert.deepEqual([trial.shadow, headers(trial), headers(trial, 'x-ratelimit')], [true, {}, {}]);
});

test('a cost that never fits has no retry time', async () => {
  const denial = await limiters[0].check('user', 'carol', { cost: 4 });
  assert.deepEqual(headers(denial), { 'RateLimit-Policy': '"user";q=3;w=60', RateLimit: '"user";r=3' });
});

test('headers of what is no decision', async () => {
  const decision = await limiters[0].peek('user', 'dave');
  assert.throws(() => headers(), { name: 'WrongTypeError', message: 'decision: must be a decision, not undefined' });
  assert.throws(() => headers({}), { name: 'WrongTypeError', message: /^decision: must be one of this package/ });
  assert.throws(() => headers(decision, 5), { name: 'WrongTypeError', message: 'style: must be a string, not number' });
  assert.throws(() => headers(decision, 'X-RateLimit'), { code: 'InvalidArgument', message: /^style: / });
});
