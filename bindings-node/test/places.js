'use strict';

// Applications whose requests take places, and tests that run in each.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { createServer } = require('node:http');
const { setTimeout: sleep } = require('node:timers/promises');
const { rateLimit: forExpress } = require('sluicegate/express');
const { rateLimit: forFastify } = require('sluicegate/fastify');

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
  place('short', '/short/*', { limit: 1, lease_seconds: 0.6 }),
  place('many', '/many/*', { limit: 40 }),
  {
    rule_id: 'tokens',
    rate: '1000/h',
    reservations: true,
    cost: 10,
    identifier_type: 'global',
    match: { path_pattern: '/jobs/metered' },
  },
];

/** What the handlers of every framework do: they work, and count who is inside. */
class Room {
  inside = 0;
  most = 0;

  async work(path, reservation, response) {
    this.most = Math.max(this.most, ++this.inside);
    try {
      if (path.endsWith('/never')) return await new Promise(() => {});
      if (path === '/jobs/raises') throw new Error('broken');
      if (path === '/jobs/metered') await reservation.commit({ tokens: 3 });
      if (path === '/jobs/stream') return await this.stream(response);
      await sleep(path === '/short/1500' ? 1500 : 20);
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

/** Each opens an application, and returns its port and `close`. */
const SERVE = {
  /** Node without a framework. */
  async node({ createServer }, limiter, room, options) {
    const limit = forExpress(limiter, options);
    const server = createServer((request, response) => {
      limit(request, response, async () => response.end(await room.work(request.url, request.reservation, response)));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return { server, port: server.address().port, close: () => server.close() };
  },
  async express(express, limiter, room, options) {
    const app = express();
    app.use(forExpress(limiter, options));
    app.use((request, response, next) => {
      const done = (body) => body === undefined || response.send(body);
      room.work(request.path, request.reservation, response).then(done, next);
    });
    app.use((error, request, response, next) => response.status(500).send(error.message));
    const server = createServer(app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { server, port: server.address().port, close: () => server.close() };
  },
  async fastify(fastify, limiter, room, options) {
    const app = fastify();
    await app.register(forFastify, { limiter, ...options });
    app.all('/*', async (request, reply) => {
      if (request.url === '/jobs/stream') reply.hijack();
      return room.work(request.url, request.reservation, reply.raw);
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    return { server: app.server, port: app.server.address().port, close: () => app.close() };
  },
};

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

module.exports = { PLACES, Room, SERVE, left, rules, until };
