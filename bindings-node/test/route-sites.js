'use strict';

// One site with limits at its routes, in every framework.

const { once } = require('node:events');
const { createServer } = require('node:http');
require('reflect-metadata');
const { HttpException } = require('@nestjs/common');
const { RateLimiter } = require('sluicegate');
const express = require('sluicegate/express');
const fastify = require('sluicegate/fastify');
const hono = require('sluicegate/hono');
const koa = require('sluicegate/koa');
const nest = require('sluicegate/nestjs');
const { EXPRESS, FASTIFY } = require('./frameworks.js');

const RULES = [
  { rule_id: 'plan', algorithm: 'fixed_window', limit: 2, window_size_seconds: 86_400 },
  { rule_id: 'place', algorithm: 'concurrency', limit: 1 },
  { rule_id: 'address', identifier_type: 'ip_address', rate: '2/minute' },
  {
    rule_id: 'by-item',
    identifier_type: ['path:id', 'header:x-user'],
    rate: '2/minute',
    match: { path_pattern: '/keyed/{id}' },
  },
];

/** Each path: its limits, and its options. Functions get what finds a header of the request. */
const ROUTES = {
  '/items/:id': [['3/minute', '100/hour']],
  '/methods': ['1/minute', { perMethod: true }],
  '/first': ['2/minute', { shared: 'together' }],
  '/second': ['2/minute', { shared: 'together' }],
  '/plan': ['plan', { limit: (header) => (header('x-plan') === 'gold' ? 5 : undefined) }],
  '/login': ['2/minute', { count: 'failures' }],
  '/sales': ['2/minute', { count: 'successes' }],
  '/created': ['1/minute', { count: ({ statusCode, status }) => (statusCode ?? status) === 201 }],
  '/bulk': ['10/day', { cost: async (header) => Number(header('x-cost') ?? 1) }],
  '/health': ['1/minute', { skip: (header) => header('x-probe') === '1' }],
  '/broken': ['1/minute', { key: () => undefined }],
  '/nobody': ['1/minute', { key: () => 0 }],
  '/number': ['1/minute', { key: () => 4915.1 }],
  '/raising': ['1/minute', { key: async () => JSON.parse('secret-key') }],
  // Nothing that any of the frameworks could send.
  '/unanswered': ['1/minute', { onDenied: () => 5n }],
  '/place': ['place'],
  '/address': ['address'],
  '/keyed/:id': ['by-item'],
  '/plain': ['5/day', { key: undefined }],
  '/users': ['1/minute', { key: undefined, userId: (header) => header('x-user') }],
  '/data': [{ rule_id: 'data', algorithm: 'sliding_log', limit: 1, window_size_seconds: 60 }],
};

const FUNCTIONS = new Set(['key', 'userId', 'cost', 'limit', 'skip']);

/** The options of a route for a framework, of whose requests `headerOf` finds headers. */
function optionsFor(headerOf, stated = {}) {
  const made = ([name, value]) => {
    const isHook = FUNCTIONS.has(name) && typeof value === 'function';
    return [name, isHook ? (request) => value((header) => headerOf(request, header)) : value];
  };
  return Object.fromEntries(Object.entries(stated).map(made));
}

/** Adds all routes: `add(path, limits, options)`. */
function addRoutes(headerOf, add) {
  for (const [path, [limits, stated]] of Object.entries(ROUTES)) {
    const key = (request) => headerOf(request, 'x-user') ?? 'nobody';
    const options = optionsFor(headerOf, stated);
    add(path, limits, 'key' in options && options.key === undefined ? options : { key, ...options });
  }
}

const answerOf = (decision) => ({ left: decision?.remaining ?? null });

/** Each opens the site with a limiter; what it logs comes to `log`. */
const SITES = {
  async express(framework, limiter, log) {
    const app = framework();
    const limits = express.routeLimits(limiter, { name: 'site', trustedProxies: 1 });
    const answer = (request, response) => {
      response.status(Number(request.get('x-answer') ?? 200)).json(answerOf(request.rateLimit));
    };
    addRoutes((request, name) => request.get(name), (path, stated, options) => app.all(path, limits(stated, options), answer));
    const onDenied = (request, decision, response) => response.status(418).send(`own ${decision.rule}`);
    app.all('/own', limits('1/minute', { onDenied }), answer);
    app.use((error, request, response, next) => {
      log(`${error.stack}`);
      response.status(error.status ?? 500).end();
    });
    const server = createServer(app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { port: server.address().port, close: () => server.close() };
  },
  async fastify(framework, limiter, log) {
    const app = framework({ logger: { level: 'warn', stream: { write: log } } });
    takeGrpc(app);
    const limits = fastify.routeLimits(limiter, { name: 'site', trustedProxies: 1 });
    await app.register(limits.plugin);
    const answer = (request, reply) => reply.code(Number(request.headers['x-answer'] ?? 200)).send(answerOf(request.rateLimit));
    addRoutes(({ headers }, name) => headers[name], (url, stated, options) => {
      // In both ways.
      const limited = url.includes('s') ? { preHandler: limits(stated, options) } : { config: { limit: { limits: stated, ...options } } };
      for (const method of ['GET', 'POST']) app.route({ url, method, handler: answer, ...limited });
    });
    const onDenied = (request, decision, reply) => reply.code(418).send(`own ${decision.rule}`);
    app.route({ url: '/own', method: ['GET', 'POST'], preHandler: limits('1/minute', { onDenied }), handler: answer });
    await app.listen({ port: 0, host: '127.0.0.1' });
    return { port: app.server.address().port, close: () => app.close() };
  },
  async koa({ Koa, Router }, limiter, log) {
    const app = new Koa();
    const router = new Router();
    const limits = koa.routeLimits(limiter, { name: 'site', trustedProxies: 1 });
    const answer = (context) => {
      context.body = answerOf(context.state.rateLimit);
      context.status = Number(context.get('x-answer') || 200);
    };
    addRoutes((context, name) => context.get(name) || undefined, (path, stated, options) => {
      router.register(path, ['GET', 'HEAD', 'POST'], [limits(stated, options), answer]);
    });
    const onDenied = (context, decision) => Object.assign(context, { status: 418, body: `own ${decision.rule}` });
    router.all('/own', limits('1/minute', { onDenied }), answer);
    app.use(router.routes());
    app.on('error', (error) => log(`${error.stack}`));
    const server = createServer(app.callback()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { port: server.address().port, close: () => server.close() };
  },
  async hono({ Hono, serve }, limiter, log) {
    const app = new Hono();
    const limits = hono.routeLimits(limiter, { name: 'site', trustedProxies: 1 });
    const answer = (context) => context.json(answerOf(context.get('rateLimit')), Number(context.req.header('x-answer') ?? 200));
    addRoutes(({ req }, name) => req.header(name), (path, stated, options) => app.on(['GET', 'POST'], path, limits(stated, options), answer));
    const onDenied = (context, decision) => new Response(`own ${decision.rule}`, { status: 418 });
    app.all('/own', limits('1/minute', { onDenied }), answer);
    app.onError((error, context) => {
      log(`${error.stack}`);
      return context.text('', 500);
    });
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
    await once(server, 'listening');
    return { port: server.address().port, close: () => server.close() };
  },
  async nest(adapterOf, limiter, log) {
    const { Controller, Module, Get, Post } = require('@nestjs/common');
    const { NestFactory } = require('@nestjs/core');
    const handlers = {};
    const userOf = (request) => request.headers['x-user'] ?? 'nobody';
    addRoutes((request, name) => request.headers[name], (path, stated, options) => {
      // A property that is `undefined` takes the place of the default.
      handlers[path] = nest.RateLimit(stated, { ...options, ...(!('key' in options) && { key: userOf }) });
    });
    const onDenied = (request, context, { rule }) => new HttpException(`own ${rule}`, 418);
    handlers['/own'] = nest.RateLimit('1/minute', { onDenied });
    class Site {}
    for (const [path, limit] of Object.entries(handlers)) {
      for (const [method, verb] of [[Get, 'get'], [Post, 'post']]) {
        const name = `${verb}${path}`;
        const answer = ({ request, response }) => {
          const status = Number(request.headers['x-answer'] ?? 200);
          (response.code ?? response.status).call(response, status).send(answerOf(request.rateLimit));
        };
        define(Site, name, [method(path), limit], answer);
      }
    }
    Controller()(Site);
    class App {}
    Module({ imports: [nest.RateLimitModule.forRoot({ limiter, name: 'site', trustedProxies: 1 })], controllers: [Site] })(App);
    const say = (...words) => log(words.join(' '));
    const logger = { log() {}, error: say, warn: say };
    const app = await NestFactory.create(App, adapterOf(), { logger });
    takeGrpc(app.getHttpAdapter().getInstance());
    await app.listen(0, '127.0.0.1');
    return { port: app.getHttpServer().address().port, close: () => app.close() };
  },
};

/** Fastify refuses bodies of types that it does not know. */
function takeGrpc(app) {
  app.addContentTypeParser?.('application/grpc-web+proto', (request, payload, done) => done(null));
}

/** Adds a handler to a class, as decorators do. Its argument has request and response. */
function define(type, name, decorators, handler) {
  const { Req, Res } = require('@nestjs/common');
  const value = { [name]: (request, response) => handler({ request, response }) }[name];
  Object.defineProperty(type.prototype, name, { value, configurable: true, writable: true });
  Req()(type.prototype, name, 0);
  Res()(type.prototype, name, 1);
  for (const decorate of decorators.reverse()) decorate(type.prototype, name, Object.getOwnPropertyDescriptor(type.prototype, name));
}

/** All frameworks in all versions that are tested, by name. */
const FRAMEWORKS = {};
const KOA = {
  'koa 2': { Koa: require('koa2'), Router: require('@koa/router') },
  'koa 3': { Koa: require('koa'), Router: require('@koa/router') },
};
const NEST = {
  'nest on express': () => new (require('@nestjs/platform-express').ExpressAdapter)(),
  'nest on fastify': () => new (require('@nestjs/platform-fastify').FastifyAdapter)(),
};
const HONO = {
  'hono 3': { ...require('hono3'), ...require('@hono/node-server') },
  'hono 4': { ...require('hono'), ...require('@hono/node-server') },
};
for (const [site, versions] of Object.entries({ express: EXPRESS, fastify: FASTIFY, koa: KOA, hono: HONO, nest: NEST })) {
  for (const [name, framework] of Object.entries(versions)) FRAMEWORKS[name] = (...given) => SITES[site](framework, ...given);
}

/** Opens a site of one of them until the test ends. */
async function open(t, framework, { url = 'memory://', ...options } = {}) {
  const limiter = await RateLimiter.connect(url, { rules: RULES, ...options });
  const logged = [];
  const { port, close } = await FRAMEWORKS[framework](limiter, (line) => logged.push(line));
  t.after(async () => {
    await close();
    await limiter.close();
  });
  return { port, limiter, logged };
}

module.exports = { FRAMEWORKS, RULES, open };
