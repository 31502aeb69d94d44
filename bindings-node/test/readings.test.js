'use strict';

// However a request is spelled, the middleware in the real frameworks limits what they make of it.

const assert = require('node:assert/strict');
const { RateLimiter } = require('sluicegate');
const { rateLimit: forExpress } = require('sluicegate/express');
const { rateLimit: forFastify } = require('sluicegate/fastify');
const { EXPRESS, FASTIFY, RULES, as, each, everywhere, rule, serve, userOf } = require('./frameworks.js');
const { ask } = require('./http.js');

everywhere('no spelling of a path slips past', async (open) => {
  const get = await open({ userId: userOf });
  await get('/x/%2e%2e/orders/7?a=b', as('alice'));
  await get('//orders//8', as('alice'));
  assert.equal((await get('/%6frders/9', as('alice'))).status, 429);
});

everywhere('a path is read as any server reads it', async (open) => {
  const limiter = await RateLimiter.connect('memory://', { rules: [rule('login', 'global', { path_pattern: '/login' }, { limit: 1 })] });
  const get = await open({}, limiter);
  assert.equal((await get('/login')).status, 200);
  for (const path of ['/login%0A', '/login;/x', '/x/../login', '/login%20', '/login/.', 'http://a?/login']) {
    assert.equal((await get(path)).status, 429, path);
  }
});

everywhere('every key of a path is charged, and every line of an identifier', async (open) => {
  const limiter = await RateLimiter.connect('memory://', {
    rules: [
      rule('tenants', 'path:t', { path_pattern: '/t/{t}/*' }, { limit: 1 }),
      rule('keys', 'api_key', { path_pattern: '/api/*' }, { limit: 1 }),
    ],
  });
  const get = await open({ apiKey: 'X-Api-Key' }, limiter);
  assert.equal((await get('/t/victim/../other1/q')).status, 200);
  assert.equal((await get('/t/victim/../other2/q')).status, 429);
  assert.equal((await get('/api/x', { headers: { 'X-Api-Key': ['real', 'a'] } })).status, 200);
  assert.equal((await get('/api/x', { headers: { 'X-Api-Key': ['b', 'real'] } })).status, 429);
});

everywhere('a HEAD is a GET', async (open) => {
  const limiter = await RateLimiter.connect('memory://', { rules: [rule('get', 'global', { methods: ['GET'] }, { limit: 1 })] });
  const get = await open({}, limiter);
  assert.deepEqual([(await get('/x', { method: 'HEAD' })).status, (await get('/x', { method: 'HEAD' })).status], [200, 429]);
});

everywhere('what yields too many keys is refused', async (open) => {
  const limiter = await RateLimiter.connect('memory://', { rules: [rule('any', 'path:t', { path_pattern: '*/{t}' })] });
  const { status, body } = await (await open({ onError: 'throw' }, limiter))('/x....%0A%0A..%20%20');
  assert.equal(status, 400);
  assert.equal(JSON.parse(body).detail, 'path can be read as more than 8 keys of rule "any"');
});

each(EXPRESS, 'capitals count only if an option says so', async (express, t) => {
  const setting = 'case sensitive routing';
  const reached = (request, response) => response.send('reached');
  const limited = (app, limiter, options) => app.use(forExpress(limiter, options)).use('/login', reached);
  const sensitive = () => express().set(setting, true);
  // Each makes an application in which some router ignores capitals, or none.
  const behindClosure = (...limits) => {
    const router = express.Router().post('/login', reached);
    return sensitive().use(forExpress(...limits), (request, response, next) => router(request, response, next));
  };
  const cases = [
    [429, {}, (...limits) => limited(express(), ...limits)],
    [429, {}, (...limits) => limited(sensitive(), ...limits)],
    [429, {}, (...limits) => express().use(limited(sensitive(), ...limits))],
    [429, {}, behindClosure],
    [429, { ignoreCase: true }, (...limits) => limited(sensitive(), ...limits)],
    [404, { ignoreCase: false }, (...limits) => sensitive().use(forExpress(...limits)).post('/login', reached)],
  ];
  for (const [expected, options, make] of cases) {
    const limiter = await RateLimiter.connect('memory://', { rules: [rule('login', 'global', { path_pattern: '/login' }, { limit: 1 })] });
    const port = await serve(t, make(limiter, options));
    const statuses = [];
    for (const path of ['/login', '/LOGIN']) statuses.push((await ask(port, path, { method: 'POST' })).status);
    assert.deepEqual(statuses, [200, expected], String(make));
  }
});

everywhere('both spellings of the name of a header count', async (open) => {
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  const get = await open({ apiKey: 'X-Api-Key' }, limiter);
  await get('/api/x', { headers: { 'X-Api-Key': ['a', 'b'], X_Api_Key: 'c' } });
  for (const key of ['a', 'b', 'c', 'a, b', 'a,b,c']) assert.equal((await limiter.peek('keys', key)).remaining, 1, key);
});

each(FASTIFY, 'a handler that gets an empty parameter is limited', async (fastify, t) => {
  const app = fastify();
  t.after(() => app.close());
  const rules = [
    rule('user', 'path:id', { path_pattern: '/users/{id}' }, { limit: 1 }),
    rule('login', 'global', { path_pattern: '/{locale}/login' }, { limit: 1 }),
    rule('secret', 'global', { path_pattern: '/api/{x}/secret' }, { limit: 1 }),
  ];
  await app.register(forFastify, { limiter: await RateLimiter.connect('memory://', { rules }) });
  for (const path of ['/users/:id', '/:locale/login', '/api/:x/secret']) app.get(path, ({ params }) => params);
  await app.listen({ port: 0, host: '127.0.0.1' });
  for (const path of ['/users/', '//login', '/api//secret']) {
    const { status, body } = await ask(app.server.address().port, path);
    assert.deepEqual([status, Object.values(JSON.parse(body))], [200, ['']], path);
    assert.equal((await ask(app.server.address().port, path)).status, 429, path);
  }
});

each(FASTIFY, 'capitals count unless the application says otherwise', async (fastify, t) => {
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  for (const [caseSensitive, headers] of [[true, undefined], [false, '"addresses";r=1;t=3600']]) {
    const app = fastify({ caseSensitive, rewriteUrl: ({ url }) => url.replace('/old', '') });
    t.after(() => app.close());
    await app.register(forFastify, { limiter });
    app.all('/*', () => 'reached');
    await app.listen({ port: 0, host: '127.0.0.1' });
    assert.equal((await ask(app.server.address().port, '/LOGIN')).headers.ratelimit, headers);
    await limiter.reset('addresses', '127.0.0.1');
    assert.equal((await ask(app.server.address().port, '/old/login')).headers.ratelimit, '"addresses";r=1;t=3600');
    await limiter.reset('addresses', '127.0.0.1');
  }
});

each(EXPRESS, 'a target that other middleware changes counts too', async (express, t) => {
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  const app = express();
  app.use((request, response, next) => {
    request.url = request.url.replace('/old', '');
    next();
  });
  app.use(forExpress(limiter));
  app.use((request, response) => response.send('reached'));
  assert.equal((await ask(await serve(t, app), '/old/login')).headers.ratelimit, '"addresses";r=1;t=3600');
});
