'use strict';

// Responses that never end: what was reserved for a request comes back when its connection is gone, long before its lease.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const http2 = require('node:http2');
const { connect } = require('node:net');
const { setTimeout: sleep } = require('node:timers/promises');
const { RateLimiter } = require('sluicegate');
const { EXPRESS, FASTIFY, each } = require('./frameworks.js');
const { PLACES, Room, SERVE, left, rules, until } = require('./places.js');

const KINDS = { node: { node: http }, express: EXPRESS, fastify: FASTIFY };

/** A test on each server, with what asks for a place by these bytes. */
function everywhere(name, body, options = {}) {
  for (const [kind, versions] of Object.entries(KINDS)) {
    each(versions, name, async (framework, t) => {
      const limiter = await RateLimiter.connect('memory://', { rules });
      const { server, port, close } = await SERVE[kind](framework, limiter, new Room(), options);
      t.after(async () => {
        server.closeAllConnections();
        await close();
        await limiter.close();
      });
      await body({ limiter, server, open: (bytes) => opened(port, bytes) });
      await until(async () => (await left(limiter)) === PLACES);
    });
  }
}

function opened(port, bytes) {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.resume();
  socket.write(bytes);
  return socket;
}

const head = (method, path, ...lines) => `${method} ${path} HTTP/1.1\r\nHost: here\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
const get = (path) => head('GET', path);
/** Fastify refuses a body of no type. */
const TEXT = 'Content-Type: text/plain';

/** What clients send before they hang up, and how many places that takes. */
const SENT = {
  'one request that is never answered': [get('/jobs/never'), 1],
  'requests behind one that is never answered': [get('/jobs/never') + get('/jobs/quick') + get('/jobs/quick'), 3],
  'requests that are still worked on': [get('/jobs/quick').repeat(3), 3],
  'a stream and what follows it': [get('/jobs/stream') + get('/jobs/quick'), 2],
  'the head of a body': [head('POST', '/jobs/never', TEXT, 'Content-Length: 100000'), 1],
  'part of a body in chunks': [`${head('POST', '/jobs/never', TEXT, 'Transfer-Encoding: chunked')}5\r\nhello\r\n`, 1],
  'an expectation of 100': [head('POST', '/jobs/never', TEXT, 'Content-Length: 9', 'Expect: 100-continue'), 1],
  'HEAD, several times': [head('HEAD', '/jobs/never') + head('HEAD', '/jobs/quick').repeat(2), 3],
  'an upgrade that nobody offers': [head('GET', '/jobs/never', 'Connection: Upgrade', 'Upgrade: websocket'), 1],
};

/** How they hang up. */
const HANG_UP = { 'a reset': (socket) => socket.resetAndDestroy(), 'an end': (socket) => socket.end() };

for (const [sent, [bytes, taken]] of Object.entries(SENT)) {
  for (const [how, hangUp] of Object.entries(HANG_UP)) {
    everywhere(`a client hangs up by ${how} after ${sent}`, async ({ limiter, open }) => {
      const socket = open(bytes);
      // What is worked on but a moment may have given its place back by then.
      if (bytes.includes('/jobs/never')) await until(async () => (await left(limiter)) === PLACES - taken);
      else await until(async () => (await left(limiter)) < PLACES);
      hangUp(socket);
    });
  }
}

everywhere('a client hangs up while the limiter is asked', async ({ open }) => {
  for (let number = 0; number < 20; number++) {
    const socket = open(get('/jobs/never').repeat(3));
    await sleep(number % 4);
    socket.resetAndDestroy();
  }
});

everywhere('a server that ends the connection drops the responses that wait', async ({ limiter, server, open }) => {
  server.prependListener('request', (request, response) => request.url === '/jobs/quick' && response.setHeader('Connection', 'close'));
  const socket = open(get('/jobs/quick') + get('/jobs/never').repeat(2));
  await until(async () => (await left(limiter)) < PLACES);
  await once(socket, 'close');
});

everywhere('an idle connection ends by a time-out', async ({ server, open }) => {
  server.keepAliveTimeout = 1;
  const socket = open(get('/jobs/quick'));
  await once(socket, 'close');
});

everywhere('a socket without traffic ends by a time-out', async ({ limiter, server, open }) => {
  server.setTimeout(50);
  const socket = open(get('/jobs/never').repeat(3));
  await until(async () => (await left(limiter)) === 0);
  await once(socket, 'close');
});

everywhere('many requests on one connection warn of nothing', async ({ limiter, open }) => {
  const warnings = [];
  const warn = (warning) => warnings.push(warning.message);
  process.on('warning', warn);
  const socket = open(get('/many/never').repeat(40));
  await until(async () => (await left(limiter, 'many')) === 0);
  socket.resetAndDestroy();
  await until(async () => (await left(limiter, 'many')) === 40);
  process.off('warning', warn);
  assert.deepEqual(warnings, []);
});

const logged = [];
everywhere('what is held is renewed for so long and no longer', async ({ limiter, open }) => {
  logged.length = 0;
  const socket = open(get('/short/never'));
  await until(async () => (await left(limiter, 'short')) === 0);
  await sleep(700);
  assert.deepEqual([await left(limiter, 'short'), logged], [0, []]);
  await until(async () => (await left(limiter, 'short')) === 1);
  assert.deepEqual(logged, [
    'a reservation is not renewed any more: the response to its request is not over after 0.8 s ' +
      '(raise maxLeaseSeconds if requests take that long)',
  ]);
  socket.destroy();
}, { maxLeaseSeconds: 0.8, log: ({ code, message }) => code === 'Timeout' && logged.push(message) });

each({ node: http }, 'requests before one that upgrades the connection', async (_, t) => {
  const limiter = await RateLimiter.connect('memory://', { rules });
  const { server, port, close } = await SERVE.node(http, limiter, new Room());
  t.after(close);
  const upgraded = once(server, 'upgrade');
  const socket = opened(port, get('/jobs/never').repeat(2) + head('GET', '/jobs/never', 'Connection: Upgrade', 'Upgrade: echo'));
  // From here on Node does not look at the socket.
  const [, taken] = await upgraded;
  taken.on('error', () => {}).resume();
  await until(async () => (await left(limiter)) === PLACES - 2);
  socket.resetAndDestroy();
  await until(async () => (await left(limiter)) === PLACES);
});

/** How streams of HTTP/2 end, of which there are three that are never answered. */
const RESET = {
  'their own': (session, streams) => streams.forEach((stream) => stream.close(http2.constants.NGHTTP2_CANCEL)),
  'that of the session': (session) => session.destroy(),
  'that of the socket': (session, streams, socket) => socket.resetAndDestroy(),
};

for (const [end, reset] of Object.entries(RESET)) {
  each({ node: http2, ...FASTIFY }, `streams of HTTP/2 end by ${end}`, async (framework, t) => {
    const limiter = await RateLimiter.connect('memory://', { rules });
    const isNode = framework === http2;
    const serve = isNode ? SERVE.node : SERVE.fastify;
    const { port, close } = await serve(isNode ? http2 : (options) => framework({ ...options, http2: true }), limiter, new Room());
    const socket = connect(port, '127.0.0.1');
    const session = http2.connect(`http://127.0.0.1:${port}`, { createConnection: () => socket });
    session.on('error', () => {});
    t.after(async () => {
      session.destroy();
      await close();
    });
    for (let round = 0; round < 3; round++) {
      const done = session.request({ ':path': '/jobs/quick' });
      assert.equal((await once(done, 'response'))[0][':status'], 200);
      done.resume();
      await once(done, 'close');
      const streams = Array.from({ length: PLACES }, () => session.request({ ':path': '/jobs/never' }));
      for (const stream of streams) stream.on('error', () => {});
      await until(async () => (await left(limiter)) === 0);
      reset(session, streams, socket);
      await until(async () => (await left(limiter)) === PLACES);
      if (session.destroyed) break;
    }
  });
}
