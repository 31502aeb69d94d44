'use strict';

// Requests that take places: never more handlers at once than there are, and every place comes back.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { get: open } = require('node:http');
const { after, before } = require('node:test');
const { setTimeout: sleep } = require('node:timers/promises');
const { RateLimiter } = require('sluicegate');
const { EXPRESS, FASTIFY, each } = require('./frameworks.js');
const { ask } = require('./http.js');
const { PLACES, Room, SERVE, left, rules, until } = require('./places.js');
const { start } = require('./servers.js');

let servers;
before(async () => (servers = await start('redis')));
after(() => servers.stop());

/** A test in each framework, in memory and on Redis. */
function everywhere(name, body) {
  const within = (serve) => async (framework, t) => {
    for (const url of ['memory://', servers.redis]) {
      const limiter = await RateLimiter.connect(url, { rules, prefix: `${t.name} ${url}` });
      const room = new Room();
      const { port, close } = await serve(framework, limiter, room);
      try {
        await body({ get: (path) => ask(port, path), port, limiter, room });
      } finally {
        await close();
        await limiter.close();
      }
    }
  };
  each(EXPRESS, name, within(SERVE.express));
  each(FASTIFY, name, within(SERVE.fastify));
}

everywhere('no more than the limit are served at once', async ({ get, limiter, room }) => {
  for (const path of ['/jobs/quick', '/jobs/stream']) {
    const answers = await Promise.all(Array.from({ length: 40 }, () => get(path)));
    assert.ok(answers.filter(({ status }) => status === 200).length >= PLACES);
    const denied = answers.find(({ status }) => status === 429);
    assert.equal(JSON.parse(denied.body).rule, 'places');
    assert.ok(Number(denied.headers['retry-after']) > 0);
    await until(async () => (await left(limiter)) === PLACES);
  }
  assert.equal(room.most, PLACES);
});

everywhere('one client finds its place free again', async ({ get, limiter }) => {
  const others = await Promise.all([1, 2].map(() => limiter.reserve('places', 'global')));
  for (let number = 0; number < 20; number++) assert.equal((await get('/jobs/quick')).status, 200);
  for (const held of others) await held.release();
});

everywhere('places are released after errors and closed connections', async ({ get, port, limiter }) => {
  for (let number = 0; number < 2 * PLACES; number++) {
    assert.equal((await get('/jobs/raises')).status, 500);
    const request = open({ port, host: '127.0.0.1', path: '/jobs/stream' });
    const [response] = await once(request, 'response');
    await once(response, 'data');
    response.on('error', () => {});
    request.destroy();
    await until(async () => (await left(limiter)) === PLACES);
  }
});

everywhere('clients that do not wait for the limiter leave nothing behind', async ({ port, limiter }) => {
  for (let number = 0; number < 40; number++) {
    const request = open({ port, host: '127.0.0.1', path: '/jobs/quick' });
    request.on('error', () => {});
    await once(request, 'finish');
    await sleep(number % 4);
    request.destroy();
  }
  await until(async () => (await left(limiter)) === PLACES);
});

everywhere('an application may commit what it used', async ({ get, limiter }) => {
  assert.equal((await get('/jobs/metered')).status, 200);
  assert.deepEqual([await left(limiter, 'tokens'), await left(limiter)], [997, PLACES]);
});

everywhere('what takes longer than its lease is renewed', async ({ get, limiter }) => {
  const slow = get('/short/1500');
  await until(async () => (await left(limiter, 'short')) === 0);
  await sleep(1000);
  assert.equal((await get('/short/1500')).status, 429);
  assert.equal((await slow).status, 200);
  await until(async () => (await left(limiter, 'short')) === 1);
});

each({ 'core': undefined }, 'checkRequest names what takes places', async () => {
  const limiter = await RateLimiter.connect(servers.redis, { rules, prefix: 'names' });
  const message = 'rule "places": check_request does not work with algorithm "concurrency" (use reserve_request)';
  await assert.rejects(limiter.checkRequest({ method: 'GET', path: '/jobs/quick' }), { code: 'InvalidArgument', message });
  const held = await limiter.reserveRequest({ method: 'GET', path: '/jobs/metered' });
  assert.deepEqual(held.parts.map(({ rule }) => rule), ['places', 'tokens']);
  assert.ok((await held.commit()) && (await left(limiter, 'tokens')) === 990 && (await left(limiter)) === PLACES);
  const unruled = await limiter.reserveRequest({ method: 'GET', path: '/other' });
  assert.ok(unruled.allowed && !unruled.ruleApplied && unruled.id === undefined && !(await unruled.commit()));
});
