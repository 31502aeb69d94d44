'use strict';

// A handshake of a WebSocket is limited as a request of its route, before it is accepted.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { test } = require('node:test');
const fastify = require('fastify');
const WebSocket = require('ws');
const { RateLimiter } = require('sluicegate');
const { routeLimits } = require('sluicegate/fastify');

const PLACE = { rule_id: 'place', algorithm: 'concurrency', limit: 1, identifier_type: 'global' };

/** Opens a socket: answers with it, or with the status of the refusal. */
async function handshake(port, path) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`);
  socket.on('error', () => {});
  const refused = once(socket, 'unexpected-response').then(([, response]) => response.statusCode);
  return Promise.race([once(socket, 'open').then(() => socket), refused]);
}

async function closed(socket) {
  socket.close();
  await once(socket, 'close');
}

test('a handshake is refused before it is accepted, and a place is held while the socket is open', async (t) => {
  const limiter = await RateLimiter.connect('memory://', { rules: [PLACE] });
  const app = fastify();
  await app.register(require('@fastify/websocket'));
  await app.register(routeLimits(limiter).plugin);
  await app.register(async (inner) => {
    for (const [path, limit] of [['/hourly', '1/hour'], ['/place', 'place']]) {
      inner.get(path, { websocket: true, config: { limit } }, () => {});
    }
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  t.after(() => app.close());
  const { port } = app.server.address();

  await closed(await handshake(port, '/hourly'));
  assert.equal(await handshake(port, '/hourly'), 429);

  const held = await handshake(port, '/place');
  assert.equal(await handshake(port, '/place'), 429);
  await closed(held);
  while ((await limiter.peek('place', 'global')).remaining === 0) await new Promise(setImmediate);
  await closed(await handshake(port, '/place'));
});
