'use strict';

// Limits of GraphQL: of fields by NestJS with Apollo, and of whole requests by what they hold.

require('reflect-metadata');
const assert = require('node:assert/strict');
const { test } = require('node:test');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { ApolloDriver } = require('@nestjs/apollo');
const { Args, GraphQLModule, Query, Resolver } = require('@nestjs/graphql');
const { parse } = require('graphql');
const express = require('express');
const { RateLimiter } = require('sluicegate');
const { routeLimits } = require('sluicegate/express');
const { RateLimit, RateLimitModule } = require('sluicegate/nestjs');
const { ask } = require('./http.js');
const { serve } = require('./frameworks.js');

async function connect(t) {
  const limiter = await RateLimiter.connect('memory://', { rules: [] });
  t.after(() => limiter.close());
  return limiter;
}

/** What a server answers to a body of JSON. */
async function post(port, path, content, headers) {
  const options = { method: 'POST', body: JSON.stringify(content), headers: { 'content-type': 'application/json', ...headers } };
  const { status, body, headers: answered } = await ask(port, path, options);
  return { status, headers: answered, content: JSON.parse(body) };
}

async function open(t) {
  class Orders {
    order(id) {
      return id;
    }

    open() {
      return 'reached';
    }
  }
  const method = (name, ...decorators) => {
    for (const decorate of decorators) decorate(Orders.prototype, name, Object.getOwnPropertyDescriptor(Orders.prototype, name));
  };
  Reflect.defineMetadata('design:paramtypes', [String], Orders.prototype, 'order');
  Args('id', { type: () => String })(Orders.prototype, 'order', 0);
  method('order', RateLimit('2/minute'), Query(() => String, { nullable: true }));
  method('open', Query(() => String));
  Resolver()(Orders);
  const graphql = GraphQLModule.forRoot({ driver: ApolloDriver, autoSchemaFile: true, playground: false, context: ({ req, res }) => ({ req, res }) });
  const limits = RateLimitModule.forRoot({ limiter: await connect(t), name: 'shop', key: ({ headers }) => headers.authorization });
  class App {}
  Module({ imports: [limits, graphql], providers: [Orders] })(App);
  const app = await NestFactory.create(App, { logger: false });
  await app.listen(0, '127.0.0.1');
  t.after(() => app.close());
  const { port } = app.getHttpServer().address();
  return (query, authorization = 'alice') => post(port, '/graphql', { query }, { authorization });
}

test('fields are limited one by one, also within one request', async (t) => {
  const query = await open(t);
  const { content, headers } = await query('{ a: order(id: "1") b: order(id: "2") c: open }');
  assert.deepEqual(content, { data: { a: '1', b: '2', c: 'reached' } });
  assert.match(headers['ratelimit-policy'], /"shop:graphql:Query.order:2\/minute"/);
  const denied = await query('{ order(id: "3") }');
  assert.match(denied.content.errors[0].message, /Too Many Requests|limit/i);
  assert.equal(denied.headers['retry-after'], '30');
  assert.deepEqual((await query('{ open }')).content, { data: { open: 'reached' } });
  assert.deepEqual((await query('{ order(id: "4") }', 'bob')).content, { data: { order: '4' } });
});

test('of many fields in one request no more are resolved than the limit admits', async (t) => {
  const query = await open(t);
  const fields = Array.from({ length: 20 }, (_, at) => `f${at}: order(id: "${at}")`);
  const { content } = await query(`{ ${fields.join(' ')} }`);
  assert.equal(content.errors.length, 18);
});

/** How many fields the operations of a request ask for. */
function fieldsOf(request) {
  const asked = [request.body].flat().flatMap(({ query }) => parse(query).definitions);
  return Math.max(1, asked.reduce((sum, { selectionSet }) => sum + (selectionSet?.selections.length ?? 0), 0));
}

/** How many calls a batch of JSON-RPC holds. */
function callsOf(request) {
  return Math.max(1, [request.body].flat().length);
}

test('a batch costs as many as it holds', async (t) => {
  const app = express();
  const limits = routeLimits(await connect(t), { name: 'shop' });
  app.use(express.json());
  const answer = (request, response) => response.json(request.rateLimit.remaining);
  app.post('/rpc', limits('5/minute', { cost: callsOf }), answer);
  app.post('/graphql', limits('5/minute', { cost: fieldsOf }), answer);
  const port = await serve(t, app);
  const call = { jsonrpc: '2.0', id: 1, method: 'order' };
  assert.equal((await post(port, '/rpc', [call, call, call])).content, 2);
  // All of it or none.
  assert.equal((await post(port, '/rpc', [call, call, call])).status, 429);
  assert.equal((await post(port, '/rpc', call)).content, 1);
  assert.equal((await post(port, '/graphql', { query: '{ a: order(id: "1") b: order(id: "2") }' })).content, 3);
  assert.equal((await post(port, '/graphql', [{ query: '{ a b }' }, { query: '{ c d }' }])).status, 429);
});
