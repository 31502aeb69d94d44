'use strict';

// What bad input gets.

const assert = require('node:assert/strict');
const { connect, createServer } = require('node:net');
const { once } = require('node:events');
const { after, before, test } = require('node:test');
const { inspect } = require('node:util');
const { ManualClock, RateLimiter, SluicegateError, WrongTypeError } = require('sluicegate');
const { start } = require('./servers.js');

const RULES = [{ rule_id: 'login', algorithm: 'gcra', limit: 2, window_size_seconds: 60 }];

let servers;
let limiters;
before(async () => {
  servers = await start('redis');
  limiters = await Promise.all(['memory://', servers.redis].map((url) => RateLimiter.connect(url, { rules: RULES })));
});
after(() => servers.stop());

/** Every call is rejected, never thrown, with this error, on every backend. */
function rejected(name, call, expected) {
  test(name, async () => {
    for (const limiter of limiters) {
      const promise = call(limiter);
      assert.ok(promise instanceof Promise);
      await assert.rejects(promise, expected);
    }
  });
}

const invalid = (message) => ({ name: 'SluicegateError', code: 'InvalidArgument', retryable: false, message });
const wrong = (message) => ({ name: 'WrongTypeError', code: 'InvalidArgument', retryable: false, message });

rejected('an unknown rule', (limiter) => limiter.check('logn', 'alice'), {
  code: 'UnknownRule',
  retryable: false,
  message: 'no rule is called "logn"; did you mean "login"?',
});
rejected('a rule without a name', (limiter) => limiter.check('', 'alice'), { code: 'UnknownRule', retryable: false });
rejected('an empty key', (limiter) => limiter.check('login', ''), invalid(/the key is empty/));
rejected('a key that is no Unicode', (limiter) => limiter.check('login', '\ud800'), invalid('key is not well-formed Unicode'));
rejected('a cost of 0', (limiter) => limiter.check('login', 'a', { cost: 0 }), invalid(/cost 0: must be at least 1/));
rejected('a cost too large', (limiter) => limiter.check('login', 'a', { cost: 2 ** 53 }), invalid(/below 2\^53/));
for (const cost of [-1, 1.5, NaN, Infinity, 2 ** 63, 1e300]) {
  const exact = Number.isInteger(cost) ? BigInt(cost) : cost;
  rejected(`a cost of ${cost}`, (limiter) => limiter.check('login', 'a', { cost }), invalid(`cost ${exact}: must be a whole number, at least 1 and below 2^53`));
}
rejected('a limit of 0', (limiter) => limiter.check('login', 'a', { limit: 0 }), invalid(/limit 0: must be at least 1/));
rejected('a resource too many', (limiter) => limiter.check('login', 'a', { resource: 'x' }), invalid(/resource is not allowed/));
rejected('an empty list', (limiter) => limiter.checkAll([]), invalid(/the list is empty/));
rejected('a negative timeout', (limiter) => limiter.wait('login', 'a', { timeoutMs: -1 }), invalid('timeout must be 0 or more'));

rejected('a rule that is no string', (limiter) => limiter.check(5, 'a'), wrong('rule: must be a string, not number'));
rejected('a key that is missing', (limiter) => limiter.check('login'), wrong('key: must be a string or an integer, not undefined'));
rejected('a key that is null', (limiter) => limiter.peek('login', null), wrong('key: must be a string or an integer, not null'));
for (const key of [7.5, NaN, 2 ** 53]) {
  rejected(`a key of ${key}`, (limiter) => limiter.check('login', key), wrong(`key: must be a string, a bigint or an integer below 2^53, not ${key}`));
}
rejected('a key that is a flag', (limiter) => limiter.check('login', ['a', true]), wrong('key[1]: must be a string or an integer, not boolean'));
rejected('a key with a hole', (limiter) => limiter.check('login', [, 'a']), wrong('key[0]: must be a string or an integer, not undefined'));
rejected('options that are none', (limiter) => limiter.refund('login', 'a', 5), wrong('options: must be an object, not number'));
rejected('a cost in text', (limiter) => limiter.check('login', 'a', { cost: '1' }), wrong('cost: must be a number, not string'));
rejected('a cost in bigint', (limiter) => limiter.check('login', 'a', { cost: 1n }), wrong('cost: must be a number, not bigint'));
rejected('an option misspelt', (limiter) => limiter.check('login', 'a', { costs: 1 }), wrong(/options: costs is not known/));
rejected('options in a map', (limiter) => limiter.check('login', 'a', new Map([['cost', 5]])), wrong('options: must be an object, not a Map'));
rejected('options that are yet to come', (limiter) => limiter.check('login', 'a', Promise.resolve({ cost: 5 })), wrong('options: must be an object, not a Promise'));
rejected('an option of another method', (limiter) => limiter.reset('login', 'a', { cost: 1 }), wrong(/options: cost is not known/));
rejected('items that are none', (limiter) => limiter.checkAll('login'), wrong('items: must be an array, not string'));
rejected('an item that is none', (limiter) => limiter.checkAll([undefined]), wrong('items[0]: must be an object, not undefined'));
rejected('an item left out', (limiter) => limiter.checkAll([, {}]), wrong('items[0]: must be an object, not undefined'));
rejected('an item with a cost in text', (limiter) => limiter.checkAll([{ rule: 'login', key: 'a', cost: '1' }]), wrong('items[0].cost: must be a number, not string'));
rejected('an item without key', (limiter) => limiter.checkAll([{ rule: 'login' }]), wrong('items[0].key: must be a string or an integer, not undefined'));
rejected('a wait without timeout', (limiter) => limiter.wait('login', 'a'), wrong('timeoutMs: must be a number, not undefined'));
rejected('a signal that is none', (limiter) => limiter.wait('login', 'a', { timeoutMs: 1, signal: 1 }), wrong('signal: must be an AbortSignal, not number'));

/** `connect` is rejected with this error; nothing is wrong with the rules, unless they are given. */
function refused(name, [url, options], expected) {
  const given = options?.constructor === Object ? { rules: RULES, ...options } : options;
  test(name, () => assert.rejects(RateLimiter.connect(url, given), expected));
}

refused('a URL of no kind', ['http://localhost', {}], { code: 'InvalidArgument' });
refused('a URL that is no string', [5], wrong('url: must be a string, not number'));
refused('rules that are none', ['memory://', { rules: 5 }], wrong(/^rules: must be a path/));
refused('rules that are circular', ['memory://', { rules: circular() }], wrong(/^rules: .*circular/));
refused('a rule with a fault', ['memory://', { rules: [{ rule_id: 'a', algoritm: 'gcra' }] }], {
  code: 'InvalidRule',
  message: 'rule "a": field "algoritm" is not known; did you mean "algorithm"?',
});
refused('a file that is missing', ['memory://', { rules: '/nowhere/rules.json' }], {
  code: 'InvalidRule',
  message: /^\/nowhere\/rules.json: cannot be read/,
});
refused('a prefix with braces', ['memory://', { prefix: '{' }], invalid(/^prefix/));
refused('a clock that is none', ['memory://', { clock: Date }], wrong('clock: must be a ManualClock, not function'));
refused('a timeout of 0', ['memory://', { responseTimeoutMs: 0 }], invalid(/response_timeout must be/));
refused('a timeout in text', ['memory://', { connectTimeoutMs: '1' }], wrong(/^connectTimeoutMs: must be a number/));
refused('half a key', ['memory://', { maxKeys: 0.5 }], invalid('max_keys 0.5: must be a whole number, 0 or more'));
refused('keys in text', ['memory://', { maxKeys: '5' }], wrong('maxKeys: must be a number, not string'));
refused('a certificate without key', ['rediss://localhost', { tlsCert: 'a.pem' }], invalid('tls_cert and tls_key must be given together'));
refused('an option misspelt at connect', ['memory://', { rule: [] }], wrong(/^options: rule is not known/));
refused('options in a map', ['memory://', new Map([['rules', []]])], wrong('options: must be an object, not a Map'));
refused('no rules', ['memory://', { rules: undefined }], wrong('rules: must be a path, JSON text, or an array of rules, not undefined'));
refused('no options', ['memory://'], wrong('rules: must be a path, JSON text, or an array of rules, not undefined'));
refused('rules that are no JSON', ['memory://', { rules: { toJSON() {} } }], wrong(/^rules: must be a path/));
refused('a server that is missing', ['redis://127.0.0.1:1', {}], { code: 'Connection', retryable: true });

function circular() {
  const rule = {};
  rule.match = rule;
  return [rule];
}

test('the error of a damaged key has the key', async () => {
  const name = 'sluicegate:login:{mallory}:gt1m';
  const { hostname, port } = new URL(servers.redis);
  const socket = connect(port, hostname);
  socket.write(`SET ${name} garbage EX 60\r\n`);
  assert.equal(String((await once(socket, 'data'))[0]), '+OK\r\n');
  socket.end();
  const error = await limiters[1].check('login', 'mallory').then(assert.fail, (reason) => reason);
  assert.equal(error.code, 'Server');
  assert.equal(error.key, name);
  assert.match(error.message, /rule "login"/);
  // What a logger shows of an error.
  assert.doesNotMatch(`${error}${error.stack}${inspect(error)}${JSON.stringify(error)}`, /mallory/);
  await assert.rejects(limiters[1].check('login', ''), { key: undefined });
});

test('a server that is silent', async (t) => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  t.after(() => silent.close());
  await once(silent, 'listening');
  const url = `redis://127.0.0.1:${silent.address().port}`;
  const options = { rules: RULES, connectTimeoutMs: 50 };
  await assert.rejects(RateLimiter.connect(url, options), { code: 'Timeout', retryable: true });
});

test('a closed limiter', async () => {
  for (const url of ['memory://', servers.redis]) {
    const limiter = await RateLimiter.connect(url, { rules: RULES });
    await limiter.close();
    await limiter.close();
    const calls = [
      () => limiter.check('login', 'a'),
      () => limiter.checkAll([{ rule: 'login', key: 'a' }]),
      () => limiter.reset('login', 'a'),
      () => limiter.wait('login', 'a', { timeoutMs: 1 }),
      () => limiter.ping(),
    ];
    for (const call of calls) await assert.rejects(call, { code: 'Closed', retryable: false });
  }
});

test('disposal closes', async () => {
  const limiter = await RateLimiter.connect(servers.redis, { rules: RULES });
  await limiter[Symbol.asyncDispose]();
  await assert.rejects(limiter.ping(), { code: 'Closed' });
});

test('limiters are made by connect alone', () => {
  assert.throws(() => new RateLimiter(), { name: 'TypeError', message: /RateLimiter.connect/ });
});

test('an error tells where it was made and what it is', async () => {
  const error = await limiters[1].check('login', '').catch((reason) => reason);
  assert.ok(error instanceof SluicegateError && error instanceof Error);
  assert.match(error.stack, /^SluicegateError: rule "login": the key is empty/);
});

test('an error of the network tells who waited for it', async () => {
  const short = await start('redis');
  const limiter = await RateLimiter.connect(short.redis, { rules: RULES });
  await short.stop();
  const item = { rule: 'login', key: 'a' };
  const calls = {
    check: () => limiter.check('login', 'a'),
    checkAll: () => limiter.checkAll([item]),
    reset: () => limiter.reset('login', 'a'),
    wait: () => limiter.wait('login', 'a', { timeoutMs: 50, signal: AbortSignal.timeout(60_000) }),
    ping: () => limiter.ping(),
  };
  for (const [name, call] of Object.entries(calls)) {
    const error = await whoWaits(call).then(assert.fail, (reason) => reason);
    assert.ok(error instanceof SluicegateError && error.retryable, name);
    assert.match(error.stack, /\n +at async whoWaits .*errors\.test\.js:/, name);
  }
  await limiter.close();
  const closed = await whoWaits(() => limiter.check('login', 'a')).catch((reason) => reason);
  assert.match(closed.stack, /SluicegateError: the limiter is closed[^]* whoWaits /);
});

async function whoWaits(call) {
  return await call();
}

test('an integer is a key', async () => {
  for (const limiter of limiters) {
    for (const [integer, text] of [[7, '7'], [-0, '0'], [2n ** 64n, '18446744073709551616'], [[1, 'b'], ['1', 'b']]]) {
      assert.equal((await limiter.check('login', integer)).remaining, 1);
      assert.equal((await limiter.checkAll([{ rule: 'login', key: integer }])).remaining, 0);
      assert.equal((await limiter.peek('login', text)).remaining, 0);
    }
  }
});

test('an error of a wrong type is one of the limiter', async () => {
  const error = await limiters[0].check(5, 'a').catch((reason) => reason);
  assert.ok(error instanceof WrongTypeError && error instanceof SluicegateError);
});

test('clocks refuse what is no time', () => {
  assert.throws(() => new ManualClock('1'), wrong('nowUs: must be a number, not string'));
  for (const time of [-1, 0.5, NaN, 2 ** 54]) {
    const message = `now_us ${time}: must be a whole number from 0 to 2^53`;
    assert.throws(() => new ManualClock(time), invalid(message));
    assert.throws(() => new ManualClock().set(time), invalid(message));
  }
  for (const ms of [-1, NaN]) assert.throws(() => new ManualClock().advance(ms), invalid('ms must be 0 or more'));
  assert.throws(() => new ManualClock().set(), wrong(/^nowUs/));
});
