'use strict';

// CORS of frameworks around limits at routes: denials keep its headers, and preflights are not counted.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { test } = require('node:test');
require('reflect-metadata');
const { Controller, Get, Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { Hono } = require('hono');
const { cors } = require('hono/cors');
const { serve } = require('@hono/node-server');
const { RateLimiter } = require('sluicegate');
const { routeLimits } = require('sluicegate/hono');
const { RateLimit, RateLimitModule } = require('sluicegate/nestjs');
const { ask } = require('./http.js');

const ORIGIN = 'https://shop.example';

/** Each opens an application with a limit at `/`, and CORS, and returns its port. */
const SITES = {
  async hono(t, limiter) {
    const app = new Hono();
    app.use(cors({ origin: ORIGIN, exposeHeaders: ['RateLimit'] }));
    app.use(routeLimits(limiter)('2/day')).get('/', (context) => context.text('reached'));
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
    t.after(() => server.close());
    await once(server, 'listening');
    return server.address().port;
  },
  express: (t, limiter) => nest(t, limiter, new (require('@nestjs/platform-express').ExpressAdapter)()),
  fastify: (t, limiter) => nest(t, limiter, new (require('@nestjs/platform-fastify').FastifyAdapter)()),
};

async function nest(t, limiter, adapter) {
  class Site {
    get() {
      return 'reached';
    }
  }
  const get = Object.getOwnPropertyDescriptor(Site.prototype, 'get');
  for (const decorate of [Get(), RateLimit('2/day')]) decorate(Site.prototype, 'get', get);
  Controller()(Site);
  class App {}
  Module({ imports: [RateLimitModule.forRoot({ limiter })], controllers: [Site] })(App);
  const app = await NestFactory.create(App, adapter, { logger: false });
  app.enableCors({ origin: ORIGIN, exposedHeaders: ['RateLimit'] });
  await app.listen(0, '127.0.0.1');
  t.after(() => app.close());
  return app.getHttpServer().address().port;
}

for (const [framework, open] of Object.entries(SITES)) {
  test(`denials have the headers of CORS, and preflights are left alone (${framework})`, async (t) => {
    const limiter = await RateLimiter.connect('memory://', { rules: [] });
    const port = await open(t, limiter);
    const headers = { origin: ORIGIN };
    for (let at = 0; at < 3; at++) {
      const preflight = { method: 'OPTIONS', headers: { ...headers, 'access-control-request-method': 'GET' } };
      assert.equal((await ask(port, '/', preflight)).status, 204);
    }
    for (const status of [200, 200, 429]) {
      const answer = await ask(port, '/', { headers });
      const { 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed, ratelimit } = answer.headers;
      assert.deepEqual([answer.status, origin, exposed], [status, ORIGIN, 'RateLimit']);
      assert.match(ratelimit, /^"routes:/);
    }
  });
}
