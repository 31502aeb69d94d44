'use strict';

// What @nestjs/throttler documents and tries with its own storage, with ours: ttl, limit, blockDuration, several throttlers, what is
// skipped. In memory and on a server, on Express and on Fastify, by a clock that stands still.

require('reflect-metadata');
const assert = require('node:assert/strict');
const { test } = require('node:test');
const { Controller, Get, Module } = require('@nestjs/common');
const { APP_GUARD, NestFactory } = require('@nestjs/core');
const { ExpressAdapter } = require('@nestjs/platform-express');
const { FastifyAdapter } = require('@nestjs/platform-fastify');
const { SkipThrottle, Throttle, ThrottlerGuard, ThrottlerModule, minutes, seconds } = require('@nestjs/throttler');
const { ManualClock, RateLimiter } = require('sluicegate');
const { SluicegateThrottlerStorage } = require('sluicegate/nestjs-throttler');
const { ask } = require('./http.js');
const { redisFor } = require('./servers.js');

const onRedis = redisFor('throttler');

async function storageOf(t, place) {
  const clock = new ManualClock(0);
  const { url, ...options } = place;
  const limiter = await RateLimiter.connect(url, { rules: [], clock, ...options });
  t.after(() => limiter.close());
  return { storage: new SluicegateThrottlerStorage(limiter), clock };
}

/** In memory and on a server. */
function everywhere(name, body) {
  test(`${name} (memory)`, async (t) => body(await storageOf(t, { url: 'memory://' })));
  test(`${name} (redis)`, async (t) => body(await storageOf(t, onRedis())));
}

everywhere('the first hit', async ({ storage }) => {
  const first = await storage.increment('a', 1000, 1, 0, 'default');
  assert.deepEqual(first, { totalHits: 1, timeToExpire: 1, isBlocked: false, timeToBlockExpire: 0 });
});

everywhere('hits expire with their ttl', async ({ storage, clock }) => {
  const hit = () => storage.increment('a', 1000, 2, 1000, 'default');
  assert.deepEqual([(await hit()).totalHits, (await hit()).totalHits], [1, 2]);
  clock.advance(1000);
  const { totalHits, isBlocked } = await hit();
  assert.deepEqual([totalHits, isBlocked], [1, false]);
});

everywhere('keys are blocked and unblocked independently of each other', async ({ storage, clock }) => {
  const hit = (key) => storage.increment(key, 100, 3, 100, 'default');
  for (let at = 0; at < 10; at++) {
    assert.equal((await hit('one')).isBlocked, false);
    await hit('other');
    await hit('other');
    clock.advance(50);
  }
});

everywhere('a block lasts for its duration, however often it is tried, and ends with a new beginning', async ({ storage, clock }) => {
  // Shorter than the window, and longer.
  for (const block of [20_000, 90_000]) {
    const hit = () => storage.increment(`${block}`, 60_000, 1, block, 'default');
    assert.equal((await hit()).isBlocked, false);
    for (const passed of [0, 5000, block - 5001]) {
      clock.advance(passed);
      assert.equal((await hit()).isBlocked, true, `${passed}`);
    }
    assert.equal((await hit()).timeToBlockExpire, 1);
    clock.advance(1);
    const { totalHits, isBlocked, timeToExpire } = await hit();
    assert.deepEqual([totalHits, isBlocked, timeToExpire], [1, false, 60]);
    assert.equal((await hit()).isBlocked, true);
  }
});

everywhere('without a block every hit over the limit is denied and counted, until the oldest one expires', async ({ storage, clock }) => {
  const hit = () => storage.increment('a', 10_000, 2, 0, 'default');
  await hit();
  clock.advance(1000);
  const hits = [await hit(), await hit(), await hit(), await hit()];
  assert.deepEqual(hits.map(({ isBlocked }) => isBlocked), [false, true, true, true]);
  assert.deepEqual(hits.map(({ totalHits }) => totalHits), [2, 3, 4, 5]);
  assert.deepEqual(hits.map(({ timeToBlockExpire }) => timeToBlockExpire), [0, 9, 9, 9]);
  // What is denied makes it no longer.
  clock.advance(9000);
  const { totalHits, isBlocked } = await hit();
  assert.deepEqual([totalHits, isBlocked], [1, false]);
});

everywhere('a limit of zero denies every hit', async ({ storage }) => {
  for (const block of [0, 1000]) {
    for (let at = 0; at < 3; at++) {
      const { isBlocked, timeToBlockExpire } = await storage.increment(`${block}`, 1000, 0, block, 'default');
      assert.deepEqual([isBlocked, timeToBlockExpire], [true, 1]);
    }
  }
});

everywhere('throttlers count apart, also with one key', async ({ storage }) => {
  const hit = (throttler, limit) => storage.increment('a', 1000, limit, 1000, throttler);
  assert.deepEqual([(await hit('short', 1)).isBlocked, (await hit('long', 5)).isBlocked], [false, false]);
  assert.deepEqual([(await hit('short', 1)).isBlocked, (await hit('long', 5)).totalHits], [true, 2]);
});

/** Decorates a handler as the syntax for it would, and answers it. */
function handler(type, path, ...decorators) {
  const name = path || 'root';
  type.prototype[name] = { [name]: () => ({ success: true }) }[name];
  for (const decorate of [...decorators, Get(path)]) decorate(type.prototype, name, Object.getOwnPropertyDescriptor(type.prototype, name));
}

/** How each is served. */
const ADAPTERS = { express: ExpressAdapter, fastify: FastifyAdapter };

/** A test on each adapter: `add(Site)` adds handlers, and `body(get, clock)` asks the application. */
function served(name, options, add, body) {
  for (const [adapter, Adapter] of Object.entries(ADAPTERS)) {
    test(`${name} (${adapter})`, async (t) => {
      const { storage, clock } = await storageOf(t, onRedis());
      class Site {}
      add(Site);
      Controller()(Site);
      class App {}
      const imports = [ThrottlerModule.forRoot({ ...options, storage })];
      Module({ imports, controllers: [Site], providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }] })(App);
      const app = await NestFactory.create(App, new Adapter(), { logger: false });
      await app.listen(0, '127.0.0.1');
      t.after(() => app.close());
      const { port } = app.getHttpServer().address();
      await body((path = '/', headers = {}) => ask(port, path, { headers }), clock);
    });
  }
}

/** What an answer says of a throttler; others but the one without a name end with theirs. */
function told({ status, headers }, name = '') {
  const found = (header) => headers[`${header}${name && `-${name}`}`];
  return [status, found('x-ratelimit-limit'), found('x-ratelimit-remaining'), found('retry-after')];
}

const limits = {
  throttlers: [{ ttl: seconds(60), limit: 5, blockDuration: seconds(20), ignoreUserAgents: [/throttler-test/] }],
};

served('ttl, limit and blockDuration of the module, of a handler and of functions', limits, (Site) => {
  handler(Site, 'default');
  handler(Site, 'lower', Throttle({ default: { limit: 2, ttl: seconds(10), blockDuration: seconds(5) } }));
  handler(Site, 'functions', Throttle({ default: { limit: () => 3, ttl: async () => seconds(10), blockDuration: () => seconds(15) } }));
}, async (get, clock) => {
  for (const [path, limit, block] of [['/default', 5, 20], ['/lower', 2, 5], ['/functions', 3, 15]]) {
    for (let left = limit - 1; left >= 0; left--) assert.deepEqual(told(await get(path)), [200, `${limit}`, `${left}`, undefined]);
    const denied = await get(path);
    assert.deepEqual(told(denied), [429, undefined, undefined, `${block}`]);
    assert.match(JSON.parse(denied.body).message, /ThrottlerException/);
    clock.advance(seconds(block) - 1);
    assert.equal((await get(path)).status, 429);
    clock.advance(1);
    assert.deepEqual(told(await get(path)), [200, `${limit}`, `${limit - 1}`, undefined]);
  }
});

served('what is skipped is not counted', limits, (Site) => {
  handler(Site, 'skipped', SkipThrottle());
  handler(Site, 'default');
}, async (get) => {
  for (let at = 0; at < 6; at++) {
    assert.deepEqual(told(await get('/skipped')), [200, undefined, undefined, undefined]);
    assert.deepEqual(told(await get('/default', { 'user-agent': 'throttler-test/0.0.0' })), [200, undefined, undefined, undefined]);
  }
  assert.deepEqual(told(await get('/default')), [200, '5', '4', undefined]);
});

served('skipIf', { ...limits, skipIf: (context) => context.switchToHttp().getRequest().headers['x-probe'] === '1' }, (Site) => {
  handler(Site, '');
}, async (get) => {
  for (let at = 0; at < 6; at++) assert.deepEqual(told(await get('/', { 'x-probe': '1' })), [200, undefined, undefined, undefined]);
  assert.deepEqual(told(await get('/')), [200, '5', '4', undefined]);
});

const several = {
  throttlers: [{ ttl: seconds(5), limit: 2 }, { name: 'long', ttl: minutes(1), limit: 5 }, { name: 'short', ttl: seconds(1), limit: 1 }],
};

served('several throttlers', several, (Site) => {
  handler(Site, '');
  handler(Site, 'skip-short', SkipThrottle({ short: true }));
  handler(Site, 'skip-others', SkipThrottle({ default: true, long: true }));
}, async (get, clock) => {
  assert.deepEqual(told(await get(), 'short'), [200, '1', '0', undefined]);
  assert.deepEqual(told(await get(), 'short'), [429, undefined, undefined, '1']);
  clock.advance(seconds(1));
  assert.deepEqual(told(await get()), [200, '2', '0', undefined]);
  clock.advance(seconds(1));
  // Blocked for its ttl, as no other duration is given.
  assert.deepEqual(told(await get()), [429, undefined, undefined, '5']);
  clock.advance(seconds(5));
  assert.deepEqual(told(await get(), 'long'), [200, '5', '2', undefined]);
  clock.advance(seconds(1));
  assert.deepEqual(told(await get(), 'long'), [200, '5', '1', undefined]);
  clock.advance(seconds(5));
  assert.deepEqual(told(await get()), [200, '2', '1', undefined]);
  clock.advance(seconds(1));
  assert.deepEqual(told(await get(), 'long'), [429, undefined, undefined, '60']);

  assert.deepEqual([told(await get('/skip-short')), told(await get('/skip-short'))], [[200, '2', '1', undefined], [200, '2', '0', undefined]]);
  const others = await get('/skip-others');
  assert.deepEqual(told(others, 'short'), [200, '1', '0', undefined]);
  assert.deepEqual([told(others)[1], told(others, 'long')[1]], [undefined, undefined]);
});

const byUser = {
  throttlers: [{ ttl: seconds(3), limit: 2, blockDuration: 0 }],
  getTracker: ({ headers }) => headers['x-user'] ?? 'nobody',
  generateKey: (context, tracker, name) => `${name}:${tracker}`,
};

served('a tracker and keys of the application, shared by its handlers', byUser, (Site) => {
  handler(Site, 'one');
  handler(Site, 'other');
}, async (get, clock) => {
  const alice = { 'x-user': 'alice' };
  const got = [];
  for (const path of ['/one', '/other', '/one', '/other']) got.push((await get(path, alice)).status);
  assert.deepEqual(got, [200, 200, 429, 429]);
  assert.equal((await get('/one', { 'x-user': 'bob' })).status, 200);
  clock.advance(seconds(3));
  assert.deepEqual(told(await get('/other', alice)), [200, '2', '1', undefined]);
});
