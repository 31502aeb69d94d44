'use strict';

// What limits at routes of Fastify have of their own.

const assert = require('node:assert/strict');
const { RateLimiter } = require('sluicegate');
const { RateLimited, routeLimits } = require('sluicegate/fastify');
const { FASTIFY, each } = require('./frameworks.js');
const { ask } = require('./http.js');

const connect = (rules = []) => RateLimiter.connect('memory://', { rules });

/** Opens an application until the test ends. */
async function open(t, app) {
  t.after(() => app.close());
  await app.listen({ port: 0, host: '127.0.0.1' });
  return (path, options) => ask(app.server.address().port, path, options);
}

each(FASTIFY, 'an error handler answers a denied request', async (fastify, t) => {
  const app = fastify();
  const limits = routeLimits(await connect());
  await app.register(limits.plugin);
  app.register(async (inner) => {
    inner.get('/items/:id', { config: { limit: '1/minute' } }, () => 'reached');
    inner.setErrorHandler((error, request, reply) => {
      assert.ok(error instanceof RateLimited);
      return reply.code(error.statusCode).send({ name: error.name, code: error.code, rule: error.decision.rule });
    });
  }, { prefix: '/shop' });
  app.get('/plain', { config: { limit: ['1/minute', '5/hour'] } }, () => 'reached');
  const get = await open(t, app);
  assert.equal((await get('/shop/items/1')).status, 200);
  const { status, headers, body } = await get('/shop/items/2');
  assert.deepEqual([status, headers['retry-after'], JSON.parse(body)], [
    429, '60', { name: 'RateLimited', code: 'RATE_LIMITED', rule: 'routes:/shop/items/:id:1/minute' },
  ]);
  // Without a handler, it is an error of Fastify's form.
  await get('/plain');
  const plain = JSON.parse((await get('/plain')).body);
  assert.deepEqual([plain.statusCode, plain.message], [429, 'Try again in 60 seconds.']);
});

each(FASTIFY, 'a limit comes after authentication', async (fastify, t) => {
  const app = fastify();
  const limits = routeLimits(() => app.limiter, { userId: ({ user }) => user });
  app.decorate('limiter', await connect());
  app.decorateRequest('user', null);
  app.register(limits.plugin);
  const signIn = async (request) => {
    request.user = request.headers.authorization;
  };
  app.after(() => {
    app.get('/', { preHandler: signIn, config: { limit: '1/minute' } }, ({ rateLimit }) => rateLimit.rule);
    app.get('/off', { config: { limit: false } }, ({ rateLimit }) => String(rateLimit));
  });
  const get = await open(t, app);
  const as = (user) => get('/', { headers: { authorization: user } });
  assert.equal((await as('alice')).body, 'routes:/:1/minute');
  assert.deepEqual([(await as('alice')).status, (await as('bob')).status], [429, 200]);
  assert.equal((await get('/off')).body, 'undefined');
  // The route that Fastify adds for HEAD is the same one.
  const headAs = (user) => get('/', { method: 'HEAD', headers: { authorization: user } });
  assert.deepEqual([(await headAs('carol')).status, (await as('carol')).status], [200, 429]);
});

each(FASTIFY, 'an application calls the hook of a limit', async (fastify, t) => {
  const app = fastify();
  const limit = routeLimits(await connect())('2/minute');
  const preHandler = async (request, reply) => {
    if (request.headers.authorization === undefined) await limit(request, reply).catch((error) => reply.code(420).send(error.code));
  };
  app.get('/', { preHandler }, () => 'reached');
  const get = await open(t, app);
  const got = [];
  for (const authorization of [undefined, undefined, undefined, 'alice']) got.push(await get('/', { headers: authorization ? { authorization } : {} }));
  assert.deepEqual(got.map(({ status, body }) => [status, body]), [[200, 'reached'], [200, 'reached'], [420, 'RATE_LIMITED'], [200, 'reached']]);
});

each(FASTIFY, 'a check that an application has replaced is the one that is called', async (fastify, t) => {
  const app = fastify();
  const limiter = await connect();
  const { check } = limiter;
  const keys = [];
  limiter.check = (rule, key, ...more) => {
    keys.push(key);
    return check.call(limiter, rule, key, ...more);
  };
  app.get('/', { preHandler: routeLimits(limiter)('1/minute') }, () => 'reached');
  const get = await open(t, app);
  assert.deepEqual([(await get('/')).status, (await get('/')).status, keys], [200, 429, ['127.0.0.1', '127.0.0.1']]);
});

each(FASTIFY, 'headers of the style none', async (fastify, t) => {
  const app = fastify();
  app.get('/', { preHandler: routeLimits(await connect(), { headers: 'none' })('1/minute') }, () => 'reached');
  const get = await open(t, app);
  const told = ({ headers }) => Object.keys(headers).filter((name) => /ratelimit|retry/.test(name));
  assert.deepEqual([told(await get('/')), told(await get('/'))], [[], ['retry-after']]);
});

each(FASTIFY, 'onDenied returns a payload', async (fastify, t) => {
  const app = fastify();
  const limits = routeLimits(await connect(), { onDenied: (request, decision) => ({ wait: decision.retryAfterMs }) });
  app.get('/', { onRequest: limits('1/minute') }, () => 'reached');
  const get = await open(t, app);
  await get('/');
  const { status, body } = await get('/');
  assert.equal(status, 429);
  assert.ok(JSON.parse(body).wait > 59_000);
});

each(FASTIFY, 'what can be known at the start is refused then', async (fastify) => {
  for (const [limit, expected] of [
    ['5/minut', { code: 'InvalidRule' }],
    [{ limits: '5/minute', kye: () => 'a' }, /kye is not known/],
    [{ rate: '5/minute' }, /rate is not known/],
  ]) {
    const app = fastify();
    await app.register(routeLimits(await connect()).plugin);
    await assert.rejects(async () => {
      app.get('/', { config: { limit } }, () => 'reached');
      await app.ready();
    }, expected);
  }
});

each(FASTIFY, 'a route that is added before the plugin is not unlimited', async (fastify, t) => {
  const app = fastify();
  app.register(routeLimits(await connect()).plugin);
  app.get('/', { config: { limit: '5/minute' } }, () => 'reached');
  app.get('/free', () => 'reached');
  const get = await open(t, app);
  assert.equal((await get('/free')).status, 200);
  const { status, body } = await get('/');
  assert.equal(status, 500);
  assert.match(body, /register the plugin before the routes/);
});

each(FASTIFY, 'nor is one of an instance that is older than the plugin', async (fastify, t) => {
  const app = fastify();
  let inner;
  await app.register(async (child) => {
    inner = child;
  });
  await app.register(routeLimits(await connect()).plugin);
  inner.get('/', { config: { limit: '5/minute' } }, () => 'reached');
  const get = await open(t, app);
  const { status, body } = await get('/');
  assert.equal(status, 500);
  assert.match(body, /register the plugin before the routes/);
});

for (const [hook, method] of [['onRequest', 'GET'], ['preParsing', 'GET'], ['preValidation', 'GET'], ['preHandler', 'GET'], ['preParsing', 'POST']]) {
  each(FASTIFY, `a limit is a hook ${hook} of ${method}`, async (fastify, t) => {
    const app = fastify();
    app.route({ method, url: '/', [hook]: routeLimits(await connect())('3/minute'), handler: (request) => request.body ?? 'reached' });
    const get = await open(t, app);
    const sent = method === 'POST' ? { method, headers: { 'content-type': 'text/plain' }, body: 'sent' } : { method };
    const got = [];
    for (let count = 0; count < 4; count += 1) got.push((await get('/', sent)).status);
    assert.deepEqual(got, [200, 200, 200, 429]);
  });
}

each(FASTIFY, 'a streamed answer holds its place until its end', async (fastify, t) => {
  const { PassThrough } = require('node:stream');
  const limiter = await connect([{ rule_id: 'place', algorithm: 'concurrency', limit: 1 }]);
  const app = fastify();
  const body = new PassThrough();
  const limits = routeLimits(limiter, { key: () => 'all' });
  app.get('/', { preHandler: limits('place') }, (request, reply) => reply.send(body));
  const get = await open(t, app);
  const first = get('/');
  body.write('first ');
  while ((await limiter.peek('place', 'all')).remaining > 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal((await get('/')).status, 429);
  body.end('last');
  assert.equal((await first).body, 'first last');
  assert.equal((await limiter.peek('place', 'all')).remaining, 1);
});
