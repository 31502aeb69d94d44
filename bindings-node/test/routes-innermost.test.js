'use strict';

// Limits around limits: an answer has the headers of the innermost, which decided last, and a denial keeps its own.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { createServer } = require('node:http');
const { test } = require('node:test');
const { RateLimiter } = require('sluicegate');
const ofExpress = require('sluicegate/express');
const ofFastify = require('sluicegate/fastify');
const ofHono = require('sluicegate/hono');
const ofKoa = require('sluicegate/koa');
const { EXPRESS, FASTIFY } = require('./frameworks.js');
const { ask } = require('./http.js');

const RULES = [{ rule_id: 'outer', rate: '100/hour', identifier_type: 'global', match: { path_pattern: '/*' } }];
const INNER = '1/minute';
const OWN = '1/hour';
const ANSWER = 'reached';
const DEFAULTS = { name: 'inner', key: () => 'all' };

/** Each opens a site with a limit around those of its routes, and returns its port. */
const SITES = {
  ...Object.fromEntries(Object.entries(EXPRESS).map(([version, express]) => [version, async (t, limiter) => {
    const app = express();
    const limits = ofExpress.routeLimits(limiter, DEFAULTS);
    const onDenied = (request, decision, response) => void response.status(429).send(decision.rule);
    app.use(ofExpress.rateLimit(limiter));
    app.get('/inner', limits(INNER), (request, response) => response.send(ANSWER));
    app.get('/own', limits(OWN, { onDenied }), (request, response) => response.send(ANSWER));
    app.get('/free', (request, response) => response.send(ANSWER));
    return listening(t, createServer(app));
  }])),
  ...Object.fromEntries(Object.entries(FASTIFY).map(([version, fastify]) => [version, async (t, limiter) => {
    const app = fastify();
    const limits = ofFastify.routeLimits(limiter, DEFAULTS);
    await app.register(ofFastify.rateLimit, { limiter });
    app.get('/inner', { preHandler: limits(INNER) }, () => ANSWER);
    app.get('/own', { preHandler: limits(OWN, { onDenied: (request, decision) => decision.rule }) }, () => ANSWER);
    app.get('/free', () => ANSWER);
    await app.ready();
    return listening(t, app.server);
  }])),
  async koa(t, limiter) {
    const app = new (require('koa'))();
    const router = new (require('@koa/router'))();
    const limits = ofKoa.routeLimits(limiter, DEFAULTS);
    const answer = (context) => (context.body = ANSWER);
    router.get('/inner', limits(INNER), answer);
    router.get('/own', limits(OWN, { onDenied: (context, decision) => (context.body = decision.rule) }), answer);
    router.get('/free', answer);
    app.use(limits('outer')).use(router.routes());
    return listening(t, createServer(app.callback()));
  },
  async hono(t, limiter) {
    const { Hono } = require('hono');
    const { createAdaptorServer } = require('@hono/node-server');
    const limits = ofHono.routeLimits(limiter, DEFAULTS);
    const answer = (context) => context.text(ANSWER);
    const app = new Hono();
    app.use('*', limits('outer'));
    app.get('/inner', limits(INNER), answer);
    app.get('/own', limits(OWN, { onDenied: (context, decision) => context.text(decision.rule, 429) }), answer);
    app.get('/free', answer);
    return listening(t, createAdaptorServer({ fetch: app.fetch }));
  },
};

async function listening(t, server) {
  server.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return server.address().port;
}

for (const [framework, open] of Object.entries(SITES)) {
  test(`an answer has the headers of the innermost limit (${framework})`, async (t) => {
    const limiter = await RateLimiter.connect('memory://', { rules: RULES });
    t.after(() => limiter.close());
    const port = await open(t, limiter);
    for (const path of ['/inner', '/own']) {
      const [admitted, denied] = [await ask(port, path), await ask(port, path)];
      assert.deepEqual([admitted.status, admitted.body, denied.status], [200, ANSWER, 429]);
      for (const { headers } of [admitted, denied]) {
        assert.match(headers['ratelimit-policy'], /^"inner:[^,]*$/);
        assert.match(headers.ratelimit, /^"inner:[^,]*;r=0/);
      }
      assert.deepEqual([denied.headers['cache-control'], Number(denied.headers['retry-after']) > 0], ['no-store', true]);
    }
    assert.match((await ask(port, '/free')).headers['ratelimit-policy'], /^"outer"/);
  });
}
