'use strict';

// Messages of a WebSocket, charged one by one by an application of its own.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { test } = require('node:test');
const { WebSocket, WebSocketServer } = require('ws');
const { RateLimiter } = require('sluicegate');

const userOf = (request) => request.headers['x-user'];

async function open(t) {
  const limiter = await RateLimiter.connect('memory://', { rules: [{ rule_id: 'messages', rate: '2/minute' }] });
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  server.on('connection', (socket, request) => {
    socket.on('message', async (text) => {
      const decision = await limiter.check('messages', userOf(request));
      if (!decision.allowed) return socket.send(JSON.stringify({ error: 'too many messages', retryAfterMs: decision.retryAfterMs }));
      socket.send(JSON.stringify({ said: String(text) }));
    });
  });
  await once(server, 'listening');
  t.after(async () => {
    for (const client of server.clients) client.terminate();
    server.close();
    await limiter.close();
  });
  return server.address().port;
}

test('messages are charged one by one, over all connections of a user', async (t) => {
  const port = await open(t);
  const connect = async (user) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}`, { headers: { 'x-user': user } });
    await once(socket, 'open');
    return async (text) => {
      socket.send(text);
      return JSON.parse((await once(socket, 'message'))[0]);
    };
  };
  const [first, second, other] = [await connect('alice'), await connect('alice'), await connect('bob')];
  assert.deepEqual([await first('a'), await second('b')], [{ said: 'a' }, { said: 'b' }]);
  const { error, retryAfterMs } = await first('c');
  assert.equal(error, 'too many messages');
  assert.ok(retryAfterMs > 0 && retryAfterMs <= 30_000);
  assert.deepEqual(await other('d'), { said: 'd' });
});
