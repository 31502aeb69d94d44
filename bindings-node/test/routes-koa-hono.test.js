'use strict';

// What limits at routes of Koa and Hono have of their own.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { createServer } = require('node:http');
const { test } = require('node:test');
const { setImmediate: turn } = require('node:timers/promises');
const Koa = require('koa');
const Router = require('@koa/router');
const { Hono } = require('hono');
const { serve } = require('@hono/node-server');
const { RateLimiter } = require('sluicegate');
const { routeLimits: ofHono } = require('sluicegate/hono');
const { routeLimits: ofKoa } = require('sluicegate/koa');
const { ask } = require('./http.js');

const PLACE = { rule_id: 'place', algorithm: 'concurrency', limit: 1 };
const connect = (rules = []) => RateLimiter.connect('memory://', { rules });
const ruleOf = ({ headers }) => /^"(.*?)"/.exec(headers['ratelimit-policy'])?.[1];

async function listening(t, server) {
  t.after(() => server.close());
  await once(server, 'listening');
  return server.address().port;
}

test('a limit is named after the templates of all routers above (koa)', async (t) => {
  const limits = ofKoa(await connect(), { key: () => 'all' });
  const answer = (context) => (context.body = 'reached');
  const app = new Koa();
  const [outer, inner] = [new Router({ prefix: '/users/:user' }), new Router()];
  inner.get('/orders/:order', limits('50/minute'), answer);
  outer.use(inner.routes());
  app.use(outer.routes()).use(limits('80/minute')).use(answer);
  const port = await listening(t, createServer(app.callback()).listen(0, '127.0.0.1'));
  assert.equal(ruleOf(await ask(port, '/users/7/orders/8')), 'routes:/users/:user/orders/:order:50/minute');
  assert.equal(ruleOf(await ask(port, '/elsewhere')), 'routes:/:80/minute');
});

test('a limit is named after the templates of all applications above (hono)', async (t) => {
  const limits = ofHono(await connect(), { key: () => 'all' });
  const [app, inner] = [new Hono(), new Hono()];
  inner.get('/orders/:order', limits('50/minute'), (context) => context.text('reached'));
  app.route('/users/:user', inner);
  app.use('/all/*', limits('80/minute'));
  app.get('/all/:of', (context) => context.text('reached'));
  const port = await listening(t, serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }));
  assert.match(ruleOf(await ask(port, '/users/7/orders/8')), /^routes:\/users\/:user\/orders\/:order:50\/minute/);
  assert.match(ruleOf(await ask(port, '/all/7')), /^routes:\/all\/_:80\/minute/);
});

test('what an assignment in onDenied evaluates to is no answer (koa)', async (t) => {
  const limits = ofKoa(await connect(), { key: () => 'all', onDenied: (context) => (context.status = 429) });
  const app = new Koa().use(limits('1/hour')).use((context) => (context.body = 'reached'));
  const port = await listening(t, createServer(app.callback()).listen(0, '127.0.0.1'));
  await ask(port, '/');
  const { status, body } = await ask(port, '/');
  assert.deepEqual([status, body], [429, 'Too Many Requests']);
});

test('a streamed answer holds its place until its end', async (t) => {
  const { PassThrough } = require('node:stream');
  for (const [framework, open] of Object.entries({
    koa(limiter, body) {
      const limits = ofKoa(limiter, { key: () => 'all' });
      const app = new Koa().use(limits('place')).use((context) => (context.body = body));
      return createServer(app.callback()).listen(0, '127.0.0.1');
    },
    hono(limiter, body) {
      const limits = ofHono(limiter, { key: () => 'all' });
      const app = new Hono().get('/', limits('place'), () => new Response(PassThrough.toWeb(body).readable));
      return serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
    },
  })) {
    const limiter = await connect([PLACE]);
    const body = new PassThrough();
    const port = await listening(t, open(limiter, body));
    const first = ask(port, '/');
    body.write('first ');
    const left = async () => (await limiter.peek('place', 'all')).remaining;
    while ((await left()) > 0) await turn();
    assert.equal((await ask(port, '/')).status, 429, framework);
    body.end('last');
    assert.equal((await first).body, 'first last');
    while ((await left()) < 1) await turn();
  }
});

test('errors pass through, and are failures', async () => {
  const limits = ofHono(await connect(), { key: () => 'all' });
  const app = new Hono();
  app.get('/', limits('1/hour', { count: 'failures' }), (context) => {
    if (context.req.query('fail')) throw new Error('broken');
    return context.text('reached');
  });
  app.onError((error, context) => context.text(error.message, 500));
  // Without a server of Node.
  const get = async (query = '') => (await app.request(`/${query}`)).status;
  assert.deepEqual([await get(), await get(), await get('?fail=1'), await get()], [200, 200, 500, 429]);
});

test('an error with a status, which a function throws, is the answer', async (t) => {
  const app = new Koa();
  app.silent = true;
  app.use(ofKoa(await connect())('1/hour', { userId: (context) => context.throw(401) }));
  const port = await listening(t, createServer(app.callback()).listen(0, '127.0.0.1'));
  assert.equal((await ask(port, '/')).status, 401);
  const { HTTPException } = require('hono/http-exception');
  const key = () => {
    throw new HTTPException(401);
  };
  const hono = new Hono().get('/', ofHono(await connect())('1/hour', { key }), (context) => context.text('reached'));
  assert.equal((await hono.request('/')).status, 401);
});
