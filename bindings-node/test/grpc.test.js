'use strict';

// Calls of gRPC, which a real client sends to applications behind the middleware and with limits at routes, over HTTP/2.

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

/** Applications with a limit at their route. */
const ROUTES = {
  async express(limits) {
    const limited = limits(require('sluicegate/express'));
    return http2.createServer((request, response) => {
      limited(request, response, () => {
        response.setHeader('content-type', 'application/grpc');
        response.setTrailer('grpc-status', '0');
        response.end(framed(HELLO));
      });
    });
  },
  async fastify(limits) {
    const app = FASTIFY['fastify 5']({ http2: true });
    app.addContentTypeParser('application/grpc', (request, payload, done) => done(null));
    app.post('/shop.Orders/Place', { preHandler: limits(require('sluicegate/fastify')) }, async (request, reply) => {
      reply.header('content-type', 'application/grpc');
      reply.raw.setTrailer('grpc-status', '0');
      return framed(HELLO);
    });
    await app.ready();
    return app.server;
  },
  async koa(limits) {
    const app = new (require('koa'))().use(limits(require('sluicegate/koa'))).use((context) => {
      context.res.setTrailer('grpc-status', '0');
      context.body = framed(HELLO);
      context.type = 'application/grpc';
    });
    return http2.createServer(app.callback());
  },
  async hono(limits) {
    const { Hono } = require('hono');
    const app = new Hono().post('/shop.Orders/Place', limits(require('sluicegate/hono')), (context) => {
      context.env.outgoing.setTrailer('grpc-status', '0');
      return context.body(framed(HELLO), 200, { 'content-type': 'application/grpc' });
    });
    return require('@hono/node-server').createAdaptorServer({ fetch: app.fetch, createServer: http2.createServer });
  },
  async nest(limits, limiter) {
    require('reflect-metadata');
    const { Controller, Module, Post, Req, Res } = require('@nestjs/common');
    const { NestFactory } = require('@nestjs/core');
    const { FastifyAdapter } = require('@nestjs/platform-fastify');
    const { RateLimit, RateLimitModule } = require('sluicegate/nestjs');
    class Orders {
      place(request, reply) {
        reply.header('content-type', 'application/grpc');
        reply.raw.setTrailer('grpc-status', '0');
        reply.send(framed(HELLO));
      }
    }
    [Req(), Res()].forEach((decorate, at) => decorate(Orders.prototype, 'place', at));
    const place = Object.getOwnPropertyDescriptor(Orders.prototype, 'place');
    for (const decorate of [Post('/shop.Orders/Place'), RateLimit(...LIMIT)]) decorate(Orders.prototype, 'place', place);
    Controller()(Orders);
    class App {}
    Module({ imports: [RateLimitModule.forRoot({ limiter, onError: 'deny', log() {} })], controllers: [Orders] })(App);
    const app = await NestFactory.create(App, new FastifyAdapter({ http2: true }), { logger: false });
    app.getHttpAdapter().getInstance().addContentTypeParser('application/grpc', (request, payload, done) => done(null));
    await app.init();
    await app.getHttpAdapter().getInstance().ready();
    return app.getHttpServer();
  },
};
const LIMIT = ['calls', { key: () => 'all' }];

async function atRoute(framework, t, limiter) {
  const limits = ({ routeLimits }) => routeLimits(limiter, { onError: 'deny', log() {} })(...LIMIT);
  const server = await ROUTES[framework](limits, limiter);
  server.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return server.address().port;
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

for (const framework of Object.keys(ROUTES)) {
  test(`a limit at a route answers with a status of gRPC (${framework})`, async (t) => {
    const open = (limiter) => atRoute(framework, t, limiter);
    await isDenied(open);
    await isUnavailable(open);
  });
}

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
