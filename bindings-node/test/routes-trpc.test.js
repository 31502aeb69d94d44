'use strict';

// Limits of procedures of tRPC, over real HTTP.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { initTRPC, TRPCError } = require('@trpc/server');
const { createHTTPHandler } = require('@trpc/server/adapters/standalone');
const { fetchRequestHandler } = require('@trpc/server/adapters/fetch');
const { RateLimiter } = require('sluicegate');
const { routeLimits } = require('sluicegate/trpc');
const { ask } = require('./http.js');
const { serve } = require('./frameworks.js');
const { redisFor } = require('./servers.js');

const RULES = [{ rule_id: 'named', rate: '1/minute' }, { rule_id: 'place', algorithm: 'concurrency', limit: 1 }];

const onRedis = redisFor('trpc');

async function limitsFor(t, defaults, { url = 'memory://', ...options } = {}) {
  const limiter = await RateLimiter.connect(url, { rules: RULES, ...options });
  t.after(() => limiter.close());
  return routeLimits(limiter, { name: 'shop', ...defaults });
}

const trpc = initTRPC.context().create();

/** Serves procedures, and returns a function that calls one as a user. */
async function open(t, procedures) {
  const router = trpc.router(procedures);
  const errors = [];
  const onError = ({ error }) => errors.push(`${error.cause?.message ?? error.message}`);
  const handler = createHTTPHandler({ router, createContext: ({ req, res }) => ({ req, res }), onError });
  const port = await serve(t, handler);
  const call = (path, user = 'alice', method = 'GET') => ask(port, `/${path}`, { method, headers: { 'x-user': user, 'content-type': 'application/json' } });
  return Object.assign(call, { errors, router });
}

const userOf = ({ ctx }) => ctx.req.headers['x-user'];
const left = ({ ctx }) => ctx.rateLimit?.remaining ?? null;

test('a procedure is limited, and sees its decision', async (t) => {
  const limits = await limitsFor(t, { userId: userOf });
  const call = await open(t, { one: trpc.procedure.use(limits(['2/minute', '100/hour'])).query(left) });
  const first = await call('one');
  assert.deepEqual([first.status, JSON.parse(first.body).result.data], [200, 1]);
  assert.match(first.headers['ratelimit-policy'], /"shop:trpc:one:2\/minute"/);
  assert.equal((await call('one')).status, 200);
  const { status, headers, body } = await call('one');
  assert.deepEqual([status, headers['retry-after'], headers['cache-control']], [429, '30', 'no-store']);
  const { code, httpStatus, path } = JSON.parse(body).error.data;
  assert.deepEqual({ code, httpStatus, path }, { code: 'TOO_MANY_REQUESTS', httpStatus: 429, path: 'one' });
  assert.equal((await call('one', 'bob')).status, 200);
});

test('calls of a batch are counted one by one', async (t) => {
  const limits = await limitsFor(t);
  const call = await open(t, { one: trpc.procedure.use(limits('2/minute')).query(left) });
  const { status, body } = await call('one,one,one?batch=1&input={}');
  assert.equal(status, 207);
  assert.deepEqual(JSON.parse(body).map(({ error }) => error?.data.code), [undefined, undefined, 'TOO_MANY_REQUESTS']);
});

test('many clients are admitted exactly', async (t) => {
  const limits = await limitsFor(t, { userId: userOf }, onRedis());
  const call = await open(t, { bulk: trpc.procedure.use(limits('10/day')).query(left) });
  const asked = await Promise.all(Array.from({ length: 200 }, () => call('bulk')));
  assert.equal(asked.filter(({ status }) => status === 200).length, 10);
  assert.equal(asked.filter(({ status }) => status === 429).length, 190);
});

test('an answer that is none is a mistake, which is named', async (t) => {
  const limits = await limitsFor(t);
  const own = (onDenied) => trpc.procedure.use(limits('1/minute', { onDenied })).query(left);
  const call = await open(t, { own: own(() => new TRPCError({ code: 'CONFLICT' })), none: own(() => 'slow down'), ours: own(() => undefined) });
  const got = [];
  for (const path of ['own', 'none', 'ours']) got.push([(await call(path)).status, (await call(path)).status]);
  assert.deepEqual(got, [[200, 409], [200, 500], [200, 429]]);
  assert.equal(call.errors[1], 'procedure none: onDenied returned a string (return an error)');
});

test('failures alone are counted, exactly when they come together', async (t) => {
  const limits = await limitsFor(t);
  const signIn = trpc.procedure.use(limits('2/minute', { count: 'failures' })).query(({ ctx }) => {
    if (ctx.req.headers['x-user'] === 'guess') throw new TRPCError({ code: 'UNAUTHORIZED' });
    return 'welcome';
  });
  const call = await open(t, { signIn });
  for (let at = 0; at < 3; at++) assert.equal((await call('signIn')).status, 200);
  const got = await Promise.all(Array.from({ length: 10 }, () => call('signIn', 'guess')));
  assert.deepEqual(got.map(({ status }) => status).sort(), [401, 401, ...Array(8).fill(429)]);
});

test('an answer of its own, exceptions, rules by name, and places', async (t) => {
  const limits = await limitsFor(t, { key: userOf });
  const onDenied = (call, { rule }) => new TRPCError({ code: 'FORBIDDEN', message: rule });
  const call = await open(t, {
    own: trpc.procedure.use(limits('named', { onDenied })).query(left),
    health: trpc.procedure.use(limits('1/minute', { skip: (call) => userOf(call) === 'probe' })).query(left),
    place: trpc.procedure.use(limits('place')).mutation(({ ctx }) => ctx.reservation !== undefined),
  });
  await call('own');
  const denied = await call('own');
  assert.deepEqual([denied.status, JSON.parse(denied.body).error.message], [403, 'named']);
  for (let at = 0; at < 3; at++) assert.equal(JSON.parse((await call('health', 'probe')).body).result.data, null);
  for (let at = 0; at < 3; at++) assert.equal(JSON.parse((await call('place', 'alice', 'POST')).body).result.data, true);
});

test('a mistake of the application is named, and never the key', async (t) => {
  const limits = await limitsFor(t);
  const call = await open(t, {
    nobody: trpc.procedure.use(limits('1/minute', { key: () => '' })).query(left),
    raising: trpc.procedure.use(limits('1/minute', { key: () => JSON.parse('secret-key') })).query(left),
  });
  for (const path of ['nobody', 'raising']) assert.equal((await call(path)).status, 500);
  assert.match(call.errors[0], /^procedure nobody: key returned ""/);
  assert.match(call.errors[1], /^procedure raising: key threw SyntaxError/);
  assert.doesNotMatch(call.errors.join(), /secret/);
});

test('the adapter for fetch has headers, and the address from a proxy', async (t) => {
  const limits = await limitsFor(t, { trustedProxies: 1 });
  const router = trpc.router({ one: trpc.procedure.use(limits('1/minute')).query(left) });
  const call = (address) => fetchRequestHandler({
    endpoint: '', router, createContext: ({ req, resHeaders }) => ({ req, resHeaders }),
    req: new Request('http://shop.example/one', { headers: { 'x-forwarded-for': address } }),
  });
  assert.equal((await call('192.0.2.1')).status, 200);
  const denied = await call('192.0.2.1');
  assert.deepEqual([denied.status, denied.headers.get('retry-after')], [429, '60']);
  assert.equal((await call('192.0.2.2')).status, 200);
});
