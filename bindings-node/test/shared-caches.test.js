'use strict';

// The headers of one client's limit stay out of answers that a shared cache may send to others.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { createServer } = require('node:http');
const http2 = require('node:http2');
const { test } = require('node:test');
require('reflect-metadata');
const { Controller, Get, Module, Req, Res } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { initTRPC } = require('@trpc/server');
const { createHTTPHandler } = require('@trpc/server/adapters/standalone');
const { RateLimiter } = require('sluicegate');
const ofExpress = require('sluicegate/express');
const ofFastify = require('sluicegate/fastify');
const ofHono = require('sluicegate/hono');
const ofKoa = require('sluicegate/koa');
const ofNest = require('sluicegate/nestjs');
const ofTrpc = require('sluicegate/trpc');
const { EXPRESS, FASTIFY } = require('./frameworks.js');
const { ask } = require('./http.js');

const RULES = [{ rule_id: 'all', rate: '1000/hour', identifier_type: 'global', match: { path_pattern: '/*' } }];
const SHARED = ['public', 'public, max-age=60', 'max-age=60', 'Max-Age=060, must-revalidate', 's-maxage=5', 'PUBLIC'];
const OWN = ['private', 'private, max-age=60', 'no-store', 'no-cache', 'max-age=0', 'max-age=0, must-revalidate', 'immutable'];
const KEY = { key: () => 'all' };
const wanted = (headers) => headers['x-cache'];

/** Each opens a site whose answers say of caches what their request asks for, with two limits, and returns its server. */
const SITES = {
  ...each(EXPRESS, (express) => (limiter) => {
    const app = express();
    app.use(ofExpress.rateLimit(limiter));
    app.get('/', ofExpress.routeLimits(limiter, KEY)('all'), ({ headers }, response) => response.set('Cache-Control', wanted(headers)).send('reached'));
    return createServer(app);
  }),
  ...each(FASTIFY, (fastify) => async (limiter) => {
    const app = fastify();
    await app.register(ofFastify.rateLimit, { limiter });
    const preHandler = ofFastify.routeLimits(limiter, KEY)('all');
    app.get('/', { preHandler }, ({ headers }, reply) => reply.header('Cache-Control', wanted(headers)).send('reached'));
    await app.ready();
    return app.server;
  }),
  koa(limiter) {
    const app = new (require('koa'))().use(ofKoa.routeLimits(limiter, KEY)('all')).use((context) => {
      context.set('Cache-Control', wanted(context.headers));
      context.body = 'reached';
    });
    return createServer(app.callback());
  },
  hono(limiter) {
    const { Hono } = require('hono');
    const app = new Hono().get('/', ofHono.routeLimits(limiter, KEY)('all'), (context) => {
      return context.text('reached', 200, { 'Cache-Control': context.req.header('x-cache') });
    });
    return require('@hono/node-server').createAdaptorServer({ fetch: app.fetch });
  },
  async nest(limiter) {
    class Home {
      home(request, response) {
        response.set('Cache-Control', wanted(request.headers)).send('reached');
      }
    }
    [Req(), Res()].forEach((decorate, at) => decorate(Home.prototype, 'home', at));
    const home = Object.getOwnPropertyDescriptor(Home.prototype, 'home');
    for (const decorate of [Get('/'), ofNest.RateLimit('all', KEY)]) decorate(Home.prototype, 'home', home);
    Controller()(Home);
    class App {}
    Module({ imports: [ofNest.RateLimitModule.forRoot({ limiter })], controllers: [Home] })(App);
    const app = await NestFactory.create(App, { logger: false });
    await app.init();
    return app.getHttpServer();
  },
  trpc(limiter) {
    const trpc = initTRPC.context().create();
    const home = trpc.procedure.use(ofTrpc.routeLimits(limiter, KEY)('all')).query(() => 'reached');
    return createServer(createHTTPHandler({
      router: trpc.router({ home }),
      createContext: ({ req, res }) => ({ req, res }),
      responseMeta: ({ ctx }) => ({ headers: { 'cache-control': wanted(ctx.req.headers) } }),
    }));
  },
  ...Object.fromEntries(['object', 'array'].map((kind) => [`headers in an ${kind}`, (limiter) => {
    const limited = ofExpress.rateLimit(limiter);
    return createServer((request, response) => limited(request, response, () => {
      const cookies = ['a=1', 'b=2'];
      const stated = { 'Cache-Control': wanted(request.headers), 'X-Own': 'kept', 'Set-Cookie': cookies };
      response.writeHead(200, kind === 'array' ? Object.entries(stated).flat() : stated).end();
    }));
  }])),
};

function each(versions, make) {
  return Object.fromEntries(Object.entries(versions).map(([version, framework]) => [version, make(framework)]));
}

async function listening(t, server) {
  server.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return server.address().port;
}

async function opened(t, open) {
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  t.after(() => limiter.close());
  return listening(t, await open(limiter));
}

const limitHeaders = (headers) => Object.keys(headers).filter((name) => name.startsWith('ratelimit'));

for (const [framework, open] of Object.entries(SITES)) {
  test(`an answer for all has no headers of one client (${framework})`, async (t) => {
    const port = await opened(t, open);
    for (const cache of [...SHARED, ...OWN]) {
      const { status, headers } = await ask(port, framework === 'trpc' ? '/home' : '/', { headers: { 'x-cache': cache } });
      // It stays as the application has it.
      assert.deepEqual([status, headers['cache-control']], [200, cache]);
      assert.equal(limitHeaders(headers).length, SHARED.includes(cache) ? 0 : 2, cache);
      if (headers['x-own']) assert.deepEqual(headers['set-cookie'], ['a=1', 'b=2']);
    }
  });
}

test('an answer for all has no headers of one client (HTTP/2)', async (t) => {
  const port = await opened(t, (limiter) => {
    const limited = ofExpress.rateLimit(limiter);
    return http2.createServer((request, response) => limited(request, response, () => {
      response.setHeader('cache-control', wanted(request.headers));
      response.end('reached');
    }));
  });
  const client = http2.connect(`http://127.0.0.1:${port}`);
  t.after(() => client.close());
  for (const [cache, count] of [['public', 0], ['private', 2]]) {
    const asked = client.request({ ':path': '/', 'x-cache': cache });
    const [headers] = await once(asked, 'response');
    asked.resume();
    assert.deepEqual([headers['cache-control'], limitHeaders(headers).length], [cache, count]);
  }
});
