'use strict';

// Requests that take places: never more handlers at once than there are, and every place comes back.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { createServer, get: open } = require('node:http');
const http2 = require('node:http2');
const { after, before } = require('node:test');
const { setTimeout: sleep } = require('node:timers/promises');
const { RateLimiter } = require('sluicegate');
const { rateLimit: forExpress } = require('sluicegate/express');
const { rateLimit: forFastify } = require('sluicegate/fastify');
const { EXPRESS, FASTIFY, each } = require('./frameworks.js');
const { ask } = require('./http.js');
const { start } = require('./servers.js');

const PLACES = 3;
const place = (rule_id, path_pattern, more) => ({
  rule_id,
  algorithm: 'concurrency',
  limit: PLACES,
  identifier_type: 'global',
  match: { path_pattern },
  ...more,
});
const rules = [
  place('places', '/jobs/*'),
  place('short', '/short', { limit: 1, lease_seconds: 0.6 }),
  {
    rule_id: 'tokens',
    rate: '1000/h',
    reservations: true,
    cost: 10,
    identifier_type: 'global',
    match: { path_pattern: '/jobs/metered' },
  },
];

let servers;
before(async () => (servers = await start('redis')));
after(() => servers.stop());

/** What the handlers of every framework do: they work, and count who is inside. */
class Room {
  inside = 0;
  most = 0;

  async work(path, reservation, response) {
    this.most = Math.max(this.most, ++this.inside);
    try {
      if (path === '/jobs/raises') throw new Error('broken');
      if (path === '/jobs/metered') await reservation.commit({ tokens: 3 });
      if (path === '/jobs/stream') return await this.stream(response);
      await sleep(path === '/short' ? 1500 : 20);
      return 'done';
    } finally {
      this.inside--;
    }
  }

  async stream(response) {
    for (let chunk = 0; chunk < 40 && !response.destroyed; chunk++) {
      response.write('x'.repeat(65_536));
      await sleep(5);
    }
    response.end();
    return undefined;
  }
}

const SERVE = {
  async express(express, limiter, room) {
    const app = express();
    app.use(forExpress(limiter));
    app.use((request, response, next) => {
      const done = (body) => body === undefined || response.send(body);
      room.work(request.path, request.reservation, response).then(done, next);
    });
    app.use((error, request, response, next) => response.status(500).send(error.message));
    const server = createServer(app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { port: server.address().port, close: () => server.close() };
  },
  async fastify(fastify, limiter, room) {
    const app = fastify();
    await app.register(forFastify, { limiter });
    app.all('/*', async (request, reply) => {
      if (request.url === '/jobs/stream') reply.hijack();
      return room.work(request.url, request.reservation, reply.raw);
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    return { port: app.server.address().port, close: () => app.close() };
  },
};

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

async function left(limiter, rule = 'places') {
  return (await limiter.peek(rule, 'global')).remaining;
}

async function until(isSo) {
  const end = performance.now() + 20_000;
  while (!(await isSo())) {
    assert.ok(performance.now() < end, 'it takes too long');
    await sleep(5);
  }
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
  const slow = get('/short');
  await until(async () => (await left(limiter, 'short')) === 0);
  await sleep(1000);
  assert.equal((await get('/short')).status, 429);
  assert.equal((await slow).status, 200);
  await until(async () => (await left(limiter, 'short')) === 1);
});

each({ 'http2': http2 }, 'places are released over HTTP/2', async (_, t) => {
  const limiter = await RateLimiter.connect('memory://', { rules });
  const room = new Room();
  const limit = forExpress(limiter);
  const server = http2.createServer((request, response) => {
    limit(request, response, () => room.work(request.url, request.reservation, response).then((body) => response.end(body)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = http2.connect(`http://127.0.0.1:${server.address().port}`);
  t.after(() => (client.close(), server.close()));
  for (let number = 0; number < 2 * PLACES; number++) {
    const done = client.request({ ':path': '/jobs/quick' });
    assert.equal((await once(done, 'response'))[0][':status'], 200);
    const cut = client.request({ ':path': '/jobs/quick' });
    cut.on('error', () => {});
    await sleep(number);
    cut.close(http2.constants.NGHTTP2_CANCEL);
    done.resume();
    await once(done, 'close');
    await until(async () => (await left(limiter)) === PLACES);
  }
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
