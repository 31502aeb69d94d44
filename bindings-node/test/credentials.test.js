'use strict';

// A function that gives user and password for each new connection.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { connect } = require('node:net');
const { after, before, test } = require('node:test');
const { RateLimiter } = require('../lib/index.js');
const { start } = require('./servers.js');

const RULES = [{ rule_id: 'a', rate: '100/d' }];
let servers;
const opened = [];

before(async () => (servers = await start('redis')));
after(async () => {
  for (const limiter of opened) limiter.close();
  await servers.stop();
});

async function limiterWith(options) {
  const limiter = await RateLimiter.connect(servers.redis, { rules: RULES, lazy: true, ...options });
  opened.push(limiter);
  return limiter;
}

async function order(command) {
  const { hostname, port } = new URL(servers.redis);
  const socket = connect(Number(port), hostname);
  socket.write(`${command}\r\n`);
  const [answer] = await once(socket, 'data');
  socket.destroy();
  assert.match(String(answer), /^(\+OK|:)/);
}

async function rotate(user, password) {
  await order(`ACL SETUSER ${user} on resetpass >${password} ~* +@all`);
  await order(`CLIENT KILL USER ${user}`);
}

test('each new connection asks, and waits for a promise', async () => {
  let password = 'first';
  let asked = 0;
  await rotate('rotating', password);
  const credentials = async () => {
    asked++;
    await new Promise(setImmediate);
    return { user: 'rotating', password };
  };
  const limiter = await limiterWith({ credentials });
  assert.ok((await limiter.check('a', 'k')).allowed);
  assert.ok((await limiter.check('a', 'k')).allowed);
  assert.equal(asked, 1);
  password = 'second';
  await rotate('rotating', password);
  // The broken connection may be found only by a call.
  for (let call = 0; call < 3; call++) await limiter.check('a', 'k').catch(() => {});
  assert.ok((await limiter.check('a', 'k')).allowed);
});

test('what gives none is an error without secrets', async () => {
  const wrong = '`credentials` must return a password, or an object with user and password';
  const mistakes = [
    [() => { throw new RangeError('token-of-somebody'); }, '`credentials` threw RangeError'],
    [() => Promise.reject('token-of-somebody'), '`credentials` threw string'],
    [() => ({ get password() { throw new RangeError('token-of-somebody'); } }), '`credentials` threw RangeError'],
    [() => { throw Object.defineProperty(new Error(), 'name', { get: () => { throw new Error('token'); } }); }, '`credentials` threw Error'],
    [() => { throw Object.assign(new Error(), { name: Symbol('a name') }); }, '`credentials` threw Symbol(a name)'],
    [() => { throw Object.assign(new Error(), { name: 'n'.repeat(1e6) }); }, `threw ${'n'.repeat(63)}…`],
    [() => undefined, wrong],
    [() => ({ user: 1, password: 'x' }), wrong],
    [() => 5, wrong],
  ];
  for (const [credentials, words] of mistakes) {
    const limiter = await limiterWith({ credentials });
    const error = await limiter.check('a', 'k').then(assert.fail, (reason) => reason);
    assert.equal(error.code, 'Connection');
    assert.ok(error.message.endsWith(words), error.message);
    assert.doesNotMatch(error.message, /token/);
  }
});

test('a function that never answers takes no longer than a connection', async () => {
  const limiter = await limiterWith({ credentials: () => new Promise(() => {}), connectTimeoutMs: 100 });
  await assert.rejects(limiter.check('a', 'k'), { code: 'Connection', message: /`credentials` took too long$/ });
});

test('it has to be a function', async () => {
  await assert.rejects(limiterWith({ credentials: 'secret' }), { message: 'credentials: must be a function, not string' });
});
