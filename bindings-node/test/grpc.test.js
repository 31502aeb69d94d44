'use strict';

// Calls of gRPC, which a real client sends to applications behind the middleware, over HTTP/2.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http2 = require('node:http2');
const { test } = require('node:test');
const grpc = require('@grpc/grpc-js');
const { RateLimiter } = require('sluicegate');
const { rateLimit: forExpress } = require('sluicegate/express');
const { rateLimit: forFastify } = require('sluicegate/fastify');
const { FASTIFY, each } = require('./frameworks.js');

const RULES = [{ rule_id: 'calls', identifier_type: 'global', rate: '1/hour', match: { path_pattern: '/shop.Orders/*' } }];
const HELLO = Buffer.from('hello');

/** A message as gRPC sends it. */
function framed(message) {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Calls a service once. */
function call(port) {
  const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  const same = (bytes) => bytes;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest('/shop.Orders/Place', same, same, Buffer.from('world'), (error, answer) => {
      client.close();
      if (error) reject(error);
      else resolve(answer);
    });
  });
}

/** A server of Node, whose middleware is that for Express. */
async function plain(t, limiter, options) {
  const middleware = forExpress(limiter, options);
  const server = http2.createServer((request, response) => {
    middleware(request, response, () => {
      response.setHeader('content-type', 'application/grpc');
      response.setTrailer('grpc-status', '0');
      response.end(framed(HELLO));
    });
  });
  server.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return server.address().port;
}

async function ofFastify(fastify, t, limiter, options) {
  const app = fastify({ http2: true });
  app.addContentTypeParser('application/grpc', (request, payload, done) => done(null));
  await app.register(forFastify, { limiter, ...options });
  app.post('/shop.Orders/Place', async (request, reply) => {
    reply.header('content-type', 'application/grpc');
    reply.raw.setTrailer('grpc-status', '0');
    return framed(HELLO);
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  t.after(() => app.close());
  return app.server.address().port;
}

async function isDenied(open) {
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  const port = await open(limiter);
  assert.deepEqual(await call(port), HELLO);
  await assert.rejects(call(port), ({ code, details, metadata }) => {
    const { 'retry-after': wait, ratelimit } = metadata.getMap();
    assert.deepEqual([code, details], [grpc.status.RESOURCE_EXHAUSTED, `Try again in ${wait} seconds.`]);
    assert.match(String(ratelimit), /^"calls";r=0;t=/);
    return true;
  });
}

async function isUnavailable(open) {
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  const port = await open(limiter);
  await limiter.close();
  await assert.rejects(call(port), { code: grpc.status.UNAVAILABLE });
}

const CLOSED = { onError: /** @type {const} */ ('deny'), log: () => undefined };

test('a call that is denied has used up its quota', (t) => isDenied((limiter) => plain(t, limiter, {})));

test('a call that cannot be decided finds the service unavailable', (t) => isUnavailable((limiter) => plain(t, limiter, CLOSED)));

each(FASTIFY, 'a call that is denied has used up its quota', (fastify, t) =>
  isDenied((limiter) => ofFastify(fastify, t, limiter, {})));

each(FASTIFY, 'a call that cannot be decided finds the service unavailable', (fastify, t) =>
  isUnavailable((limiter) => ofFastify(fastify, t, limiter, CLOSED)));

test('gRPC-Web over HTTP/1.1 is answered in headers, and own answers are the application\'s', async (t) => {
  const { createServer } = require('node:http');
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  const ours = forExpress(limiter);
  const own = forExpress(limiter, { onDenied: (request, decision, response) => void response.writeHead(418).end(decision.rule) });
  const server = createServer((request, response) => {
    (request.headers['x-own'] ? own : ours)(request, response, () => response.end('hello'));
  });
  server.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const ask = (headers) => {
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    const target = `http://127.0.0.1:${port}/shop.Orders/Place`;
    return fetch(target, { method: 'POST', headers: { 'content-type': 'application/grpc-web+proto', ...headers } });
  };
  assert.equal(await (await ask({})).text(), 'hello');
  const denied = await ask({});
  const seen = ['grpc-status', 'content-type', 'cache-control'].map((name) => denied.headers.get(name));
  assert.deepEqual([denied.status, await denied.text(), ...seen], [200, '', '8', 'application/grpc-web+proto', 'no-store']);
  const told = await ask({ 'x-own': '1' });
  assert.deepEqual([told.status, await told.text(), told.headers.get('grpc-status')], [418, 'calls', null]);
});
