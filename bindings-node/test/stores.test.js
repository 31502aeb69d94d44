'use strict';

// The stores for other packages, in these packages, on a real server and over real HTTP.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { ManualClock, RateLimiter } = require('sluicegate');
const { SluicegateStore } = require('sluicegate/express-rate-limit');
const { sluicegateStore } = require('sluicegate/fastify-rate-limit');
const { SluicegateThrottlerStorage } = require('sluicegate/nestjs-throttler');
const { rateLimit } = require('express-rate-limit');
const forFastify = require('@fastify/rate-limit');
const express = require('express');
const fastify = require('fastify');
const { serve } = require('./frameworks.js');
const { ask } = require('./http.js');
const { redisFor, start } = require('./servers.js');

const onRedis = redisFor('stores');

/** On a server, and in memory with a clock that stands still. */
function everywhere(name, body) {
  test(`${name} (redis)`, async (t) => body(t, await connect(t, onRedis())));
  test(`${name} (memory)`, async (t) => {
    const clock = new ManualClock(0);
    return body(t, await connect(t, { url: 'memory://', clock }), clock);
  });
}

async function connect(t, { url = 'memory://', ...options } = {}) {
  const limiter = await RateLimiter.connect(url, { rules: [], ...options });
  t.after(() => limiter.close());
  return limiter;
}

everywhere('express-rate-limit', async (t, limiter, clock) => {
  const complaints = [];
  t.mock.method(console, 'error', (...words) => complaints.push(words));
  t.mock.method(console, 'warn', (...words) => complaints.push(words));
  const app = express();
  const store = new SluicegateStore(limiter, { name: 'shop' });
  app.use(rateLimit({ windowMs: 60_000, limit: 2, store, standardHeaders: 'draft-8', legacyHeaders: true }));
  // A second limit with a store of its own.
  app.use('/login', rateLimit({ windowMs: 60_000, limit: 5, store: new SluicegateStore(limiter, { name: 'login' }), skipFailedRequests: true }));
  app.get('/login', (request, response) => response.status(401).send());
  app.get('/', (request, response) => response.json(request.rateLimit));
  const port = await serve(t, app);
  const first = await ask(port, '/');
  assert.equal(JSON.parse(first.body).used, 1);
  assert.deepEqual([(await ask(port, '/')).status, (await ask(port, '/')).status], [200, 429]);
  const denied = await ask(port, '/');
  assert.deepEqual([denied.headers['x-ratelimit-remaining'], denied.headers['retry-after']], ['0', '60']);
  // Denied requests are counted as well.
  const info = await store.get('127.0.0.1');
  assert.equal(info.totalHits, 4);
  assert.ok(Math.abs(info.resetTime - Date.now() - 60_000) < 2000);
  await store.decrement('127.0.0.1');
  assert.equal((await store.get('127.0.0.1')).totalHits, 3);
  await store.resetKey('127.0.0.1');
  assert.equal(await store.get('127.0.0.1'), undefined);
  assert.equal((await ask(port, '/')).status, 200);
  if (clock) {
    clock.advance(60_000);
    assert.equal(await store.get('127.0.0.1'), undefined);
  }
  assert.deepEqual(complaints, []);
});

everywhere('express-rate-limit gives back what failed', async (t, limiter) => {
  const app = express();
  const store = new SluicegateStore(limiter);
  app.use(rateLimit({ limit: 2, store, skipSuccessfulRequests: true }));
  app.get('/', (request, response) => response.send('reached'));
  const port = await serve(t, app);
  for (let at = 0; at < 5; at++) {
    assert.equal((await ask(port, '/')).status, 200);
    // It is given back after the answer.
    while ((await store.get('127.0.0.1')) !== undefined) await new Promise((resolve) => setImmediate(resolve));
  }
});

everywhere('@fastify/rate-limit', async (t, limiter, clock) => {
  const app = fastify();
  t.after(() => app.close());
  await app.register(forFastify, { max: 2, timeWindow: 60_000, ban: 1, store: sluicegateStore(limiter) });
  app.get('/', () => 'reached');
  app.get('/own', { config: { rateLimit: { max: 1, timeWindow: '1 hour' } } }, () => 'reached');
  app.get('/other', { config: { rateLimit: { max: 1, timeWindow: '1 hour' } } }, () => 'reached');
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address();
  const got = [];
  for (let at = 0; at < 4; at++) got.push((await ask(port, '/')).status);
  assert.deepEqual(got, [200, 200, 429, 403]);
  assert.deepEqual([(await ask(port, '/own')).status, (await ask(port, '/own')).status, (await ask(port, '/other')).status], [200, 429, 200]);
  const { headers } = await ask(port, '/own');
  assert.equal(headers['x-ratelimit-remaining'], '0');
  assert.ok(Number(headers['retry-after']) > 3595);
  if (clock) {
    clock.advance(60_000);
    assert.equal((await ask(port, '/')).status, 200);
    assert.notEqual((await ask(port, '/own')).status, 200);
  }
});

everywhere('@fastify/rate-limit with continueExceeding', async (t, limiter, clock) => {
  const app = fastify();
  t.after(() => app.close());
  await app.register(forFastify, { max: 1, timeWindow: 10_000, continueExceeding: true, store: sluicegateStore(limiter) });
  app.get('/', () => 'reached');
  const check = app.createRateLimit();
  app.get('/look', { config: { rateLimit: false } }, async (request) => check(request, { increment: false }));
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address();
  const get = async (path = '/') => (await ask(port, path)).status;
  assert.deepEqual([await get(), await get()], [200, 429]);
  if (clock) {
    clock.advance(6_000);
    assert.equal(await get(), 429);
    clock.advance(6_000);
    // Twelve seconds after the first, six after the last.
    assert.equal(await get(), 429);
    clock.advance(10_000);
  } else {
    assert.equal(await get(), 429);
    const { ttlInSeconds, ttl } = JSON.parse((await ask(port, '/look')).body);
    assert.ok(ttl > 9000 && ttlInSeconds === 10);
  }
  assert.equal(await get(), clock ? 200 : 429);
});

test('@fastify/rate-limit is refused what this store lacks', async (t) => {
  const app = fastify();
  const store = sluicegateStore(await connect(t));
  await assert.rejects(
    async () => app.register(forFastify, { store, exponentialBackoff: true }),
    { code: 'InvalidArgument', message: /^exponentialBackoff/ },
  );
});

test('an error of the limiter is an error of the packages', async (t) => {
  const gone = await start('redis');
  const limiter = await connect(t, { url: gone.redis });
  const app = fastify();
  t.after(() => app.close());
  await app.register(forFastify, { max: 1, store: sluicegateStore(limiter) });
  app.get('/', () => 'reached');
  const other = express();
  other.use(rateLimit({ store: new SluicegateStore(limiter), passOnStoreError: false }), (request, response) => response.send('reached'));
  other.use((error, request, response, next) => response.status(500).send(error.code));
  await gone.stop();
  assert.equal((await app.inject('/')).statusCode, 500);
  assert.equal((await ask(await serve(t, other), '/')).body, 'Connection');
  await assert.rejects(new SluicegateThrottlerStorage(limiter).increment('a', 1000, 1, 0, 'default'), { code: 'Connection' });
});

everywhere('@nestjs/throttler: hits, blocks and a new beginning', async (t, limiter, clock) => {
  const storage = new SluicegateThrottlerStorage(limiter);
  const hit = (key, block = 30_000, name = 'default') => storage.increment(key, 60_000, 2, block, name);
  const free = { isBlocked: false, timeToBlockExpire: 0, timeToExpire: 60 };
  assert.deepEqual([await hit('a'), await hit('a')], [{ ...free, totalHits: 1 }, { ...free, totalHits: 2 }]);
  const blocked = { isBlocked: true, timeToBlockExpire: 30, totalHits: 3 };
  const third = await hit('a');
  assert.deepEqual({ ...third, timeToExpire: 0 }, { ...blocked, timeToExpire: 0 });
  assert.deepEqual([(await hit('a')).isBlocked, (await hit('b')).isBlocked, (await hit('a', 0, 'other')).isBlocked], [true, false, false]);
  // Without a block a client waits for its window, and every hit is counted.
  for (const totalHits of [1, 2]) assert.deepEqual(await hit('c', 0), { ...free, totalHits });
  for (const totalHits of [3, 4]) assert.deepEqual(await hit('c', 0), { isBlocked: true, timeToBlockExpire: 60, timeToExpire: 60, totalHits });
  if (!clock) return;
  clock.advance(29_000);
  assert.equal((await hit('a')).timeToBlockExpire, 1);
  clock.advance(1_000);
  // Before its window would have ended.
  assert.deepEqual(await hit('a'), { ...free, totalHits: 1 });
  clock.advance(30_000);
  assert.equal((await hit('c', 0)).totalHits, 1);
});

test('many hits at the same time are counted exactly', async (t) => {
  const limiter = await connect(t, onRedis());
  const store = new SluicegateStore(limiter);
  store.init({ windowMs: 60_000 });
  const counts = await Promise.all(Array.from({ length: 200 }, () => store.increment('a')));
  assert.deepEqual(counts.map(({ totalHits }) => totalHits).sort((a, b) => a - b), Array.from({ length: 200 }, (_, at) => at + 1));
  const storage = new SluicegateThrottlerStorage(limiter);
  const records = await Promise.all(Array.from({ length: 200 }, () => storage.increment('a', 60_000, 10, 0, 'default')));
  assert.equal(records.filter(({ isBlocked }) => !isBlocked).length, 10);
});

test('what makes no sense is refused', async (t) => {
  const limiter = await connect(t);
  for (const make of [(...given) => new SluicegateStore(...given), sluicegateStore, (...given) => new SluicegateThrottlerStorage(...given)]) {
    assert.throws(() => make({}), { name: 'WrongTypeError', message: 'limiter: must be a RateLimiter, not object' });
    assert.throws(() => make(limiter, { name: '' }), { code: 'InvalidArgument', message: 'name is empty' });
    assert.throws(() => make(limiter, { name: 5 }), { name: 'WrongTypeError' });
    assert.throws(() => make(limiter, 5), { name: 'WrongTypeError', message: /^options: must be an object/ });
    assert.throws(() => make(limiter, { names: 'a' }), { name: 'WrongTypeError', message: /names is not known/ });
  }
});
