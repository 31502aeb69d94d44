'use strict';

// The middleware in the real frameworks, over real HTTP.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { mkdtempSync, renameSync, rmSync, writeFileSync } = require('node:fs');
const { createServer } = require('node:http');
const http2 = require('node:http2');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { test } = require('node:test');
const { RateLimiter } = require('sluicegate');
const { rateLimit: forExpress } = require('sluicegate/express');
const { rateLimit: forFastify } = require('sluicegate/fastify');
const { ask, askRaw } = require('./http.js');
const { start } = require('./servers.js');

const rule = (name, identifier, match, more) => ({
  rule_id: name,
  identifier_type: identifier,
  algorithm: 'fixed_window',
  window_start: 'first_request',
  limit: 2,
  window_size_seconds: 3600,
  match,
  ...more,
});
const RULES = [
  rule('users', 'user_id', { path_pattern: '/orders/*' }),
  rule('addresses', 'ip_address', { path_pattern: '/login' }),
  rule('keys', 'api_key', { path_pattern: '/api/*' }),
  rule('agents', 'header:x-agent', { path_pattern: '/agents' }),
];

/** So that a request can be too long for the limiter before it is so for Node. */
const SERVER = { maxHeaderSize: 65_536 };

/** The middleware is for two versions of each. Of Fastify 4 it is the oldest that tells the target as it was sent. */
const EXPRESS = { 'express 4': require('express4'), 'express 5': require('express') };
const FASTIFY = { 'fastify 4': require('fastify4'), 'fastify 5': require('fastify') };

/** Each opens an application that limits its requests and answers every path, and returns its port and `close`. */
const SERVE = {
  async express(express, limiter, options) {
    const app = express();
    app.use(forExpress(limiter, options));
    app.get('/broken', () => {
      throw new Error('broken');
    });
    app.use((request, response) => response.send('reached'));
    app.use((error, request, response, next) => response.status(500).send(`${error.name}: ${error.message}`));
    const server = createServer(SERVER, app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { port: server.address().port, close: () => server.close() };
  },
  async fastify(fastify, limiter, options) {
    const app = fastify({ http: SERVER });
    await app.register(forFastify, { limiter, ...options });
    app.get('/broken', () => {
      throw new Error('broken');
    });
    app.all('/*', () => 'reached');
    app.setErrorHandler((error, request, reply) => reply.code(500).send(`${error.name}: ${error.message}`));
    await app.listen({ port: 0, host: '127.0.0.1' });
    return { port: app.server.address().port, close: () => app.close() };
  },
};

/** A test in each framework. `open(options, limiter)` returns what asks an application. */
function everywhere(name, body) {
  const within = (serve) => (framework, t) => {
    const open = async (options, limiter) => {
      const asked = limiter ?? (await RateLimiter.connect('memory://', { rules: RULES }));
      const { port, close } = await serve(framework, asked, options);
      t.after(close);
      return Object.assign((path, asked) => ask(port, path, asked), { raw: (bytes) => askRaw(port, bytes) });
    };
    return body(open, t);
  };
  each(EXPRESS, name, within(SERVE.express));
  each(FASTIFY, name, within(SERVE.fastify));
}

/** A test with each version of a framework. */
function each(versions, name, body) {
  for (const [version, framework] of Object.entries(versions)) test(`${name} (${version})`, (t) => body(framework, t));
}

const userOf = (request) => request.headers.authorization;
const as = (user) => ({ headers: { authorization: user } });

everywhere('a request that is admitted has headers, one that is denied has an answer', async (open) => {
  const get = await open({ userId: userOf });
  for (const left of [1, 0]) {
    const { status, headers, body } = await get('/orders/7', as('alice'));
    assert.deepEqual([status, body], [200, 'reached']);
    assert.equal(headers['ratelimit-policy'], '"users";q=2;w=3600');
    assert.equal(headers.ratelimit, `"users";r=${left};t=3600`);
    assert.equal(headers['retry-after'], undefined);
  }
  const { status, headers, body } = await get('/orders/7', as('alice'));
  assert.equal(status, 429);
  assert.match(headers['content-type'], /^application\/problem\+json/);
  assert.equal(headers['retry-after'], '3600');
  assert.match(headers.ratelimit, /^"users";r=0;t=3600$/);
  assert.deepEqual(JSON.parse(body), {
    type: 'about:blank',
    title: 'Too Many Requests',
    status: 429,
    detail: 'Try again in 3600 seconds.',
    rule: 'users',
  });
  assert.equal((await get('/orders/7', as('bob'))).status, 200);
});

everywhere('a HEAD that is denied has no body', async (open) => {
  const get = await open({ userId: userOf });
  const head = () => get('/orders/7', { ...as('alice'), method: 'HEAD' });
  await head();
  await head();
  const { status, body } = await head();
  assert.deepEqual([status, body], [429, '']);
});

everywhere('a request without a rule has no headers', async (open) => {
  const { status, headers } = await (await open())('/elsewhere');
  assert.deepEqual([status, headers.ratelimit, headers['ratelimit-policy']], [200, undefined, undefined]);
});

everywhere('what answers badly has the headers too', async (open) => {
  const limiter = await RateLimiter.connect('memory://', { rules: [rule('all', 'global', {})] });
  const { status, headers } = await (await open({}, limiter))('/broken');
  assert.deepEqual([status, headers.ratelimit], [500, '"all";r=1;t=3600']);
});

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
  const told = 'case sensitive routing';
  const reached = (request, response) => response.send('reached');
  const limited = (app, limiter, options) => app.use(forExpress(limiter, options)).use('/login', reached);
  const sensitive = () => express().set(told, true);
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
    const server = createServer(make(limiter, options)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const statuses = [];
    for (const path of ['/login', '/LOGIN']) statuses.push((await ask(server.address().port, path, { method: 'POST' })).status);
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
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  assert.equal((await ask(server.address().port, '/old/login')).headers.ratelimit, '"addresses";r=1;t=3600');
});

everywhere('an API key is found by a function or in a header', async (open) => {
  for (const apiKey of ['X-API-Key', async (request) => request.headers['x-api-key']]) {
    const get = await open({ apiKey });
    for (const [key, status] of [['a', 200], ['a', 200], ['a', 429], ['b', 200]]) {
      assert.equal((await get('/api/x', { headers: { 'x-api-key': key } })).status, status);
    }
    assert.equal((await get('/api/x')).headers.ratelimit, undefined);
  }
});

everywhere('values of headers are UTF-8', async (open) => {
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  const get = await open({}, limiter);
  await get.raw('GET /agents HTTP/1.1\r\nHost: a\r\nX-Agent: müller\r\nConnection: close\r\n\r\n');
  assert.equal((await limiter.peek('agents', 'müller')).remaining, 1);
});

everywhere('the address is that of the peer, unless proxies are trusted', async (open) => {
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  const charged = async (options, forwarded) => {
    const headers = forwarded === undefined ? {} : { 'X-Forwarded-For': forwarded };
    await (await open(options, limiter))('/login', { headers });
    const used = {};
    for (const key of ['127.0.0.1', '192.0.2.1', '192.0.2.2', '2001:db8::/64', '6.6.6.6']) {
      if ((await limiter.peek('addresses', key)).remaining < 2) used[key] = await limiter.reset('addresses', key);
    }
    return Object.keys(used).join();
  };
  assert.equal(await charged({}, '192.0.2.1'), '127.0.0.1');
  assert.equal(await charged({ trustedProxies: 1 }), '127.0.0.1');
  assert.equal(await charged({ trustedProxies: 1 }, '6.6.6.6, 192.0.2.1'), '192.0.2.1');
  assert.equal(await charged({ trustedProxies: 2 }, ['6.6.6.6 , 192.0.2.2', '192.0.2.1']), '192.0.2.2');
  assert.equal(await charged({ trustedProxies: 2 }, '192.0.2.1'), '127.0.0.1');
  assert.equal(await charged({ trustedProxies: 1 }, '192.0.2.1:4711'), '192.0.2.1');
  for (const six of ['2001:db8::1', '[2001:db8::1]', '[2001:db8::1]:4711']) {
    assert.equal(await charged({ trustedProxies: 1 }, six), '2001:db8::/64');
  }
  const brackets = ['[192.0.2.1', '[::1]x', `[${':'.repeat(8000)}`];
  for (const none of ['unknown', '', '192.0.2.1,', '1.2.3', '192.0.2.1:x', ...brackets]) {
    assert.equal(await charged({ trustedProxies: 1 }, none), '127.0.0.1', none);
  }
});

everywhere('another style of headers', async (open) => {
  const { headers } = await (await open({ headers: 'x-ratelimit' }))('/login');
  const { 'x-ratelimit-limit': limit, 'x-ratelimit-remaining': remaining } = headers;
  assert.deepEqual([limit, remaining, headers.ratelimit], ['2', '1', undefined]);
});

everywhere('a request that makes no sense is a bad one', async (open) => {
  const { status, headers, body } = await (await open())(`/${'a'.repeat(16_384)}`);
  assert.equal(status, 400);
  assert.match(headers['content-type'], /^application\/problem\+json/);
  assert.deepEqual(JSON.parse(body), {
    type: 'about:blank', title: 'Bad Request', status: 400, detail: 'path is longer than 16384 bytes',
  });
});

everywhere('a limiter that cannot decide', async (open) => {
  const servers = await start('redis');
  const limiter = await RateLimiter.connect(servers.redis, { rules: RULES });
  const told = [];
  const log = (error) => told.push(error.code);
  const admitting = await open({ log }, limiter);
  const denying = await open({ log, onError: 'deny' }, limiter);
  const throwing = await open({ log, onError: 'throw' }, limiter);
  assert.equal((await admitting('/login')).headers.ratelimit, '"addresses";r=1;t=3600');
  await servers.stop();

  const admitted = await admitting('/login');
  assert.deepEqual([admitted.status, admitted.headers.ratelimit], [200, undefined]);
  const refused = await denying('/login');
  assert.deepEqual([refused.status, JSON.parse(refused.body)], [503, {
    type: 'about:blank',
    title: 'Service Unavailable',
    status: 503,
    detail: 'It cannot be decided now whether a limit is exceeded.',
  }]);
  assert.deepEqual(told, ['Connection', 'Connection']);
  const thrown = await throwing('/login');
  assert.deepEqual([thrown.status, thrown.body.split(':')[0]], [500, 'SluicegateError']);
  assert.equal(told.length, 2);
  await limiter.close();
});

everywhere('mistakes of the application are thrown to the framework', async (open) => {
  const broken = await open({ userId: () => JSON.parse('{') });
  assert.match((await broken('/orders/7')).body, /^SyntaxError/);
  const wrong = await open({ userId: async () => 7 });
  assert.equal((await wrong('/orders/7')).body, 'TypeError: userId: must be a string, not number');
});

everywhere('options are checked before any request', async (open) => {
  const limiter = await RateLimiter.connect('memory://', { rules: [] });
  await assert.rejects(open({}, {}), { name: 'TypeError', message: 'limiter: must be a RateLimiter, not object' });
  for (const [options, expected] of [
    [{ trustedProxies: true }, { name: 'TypeError', message: 'trustedProxies: must be a number, not boolean' }],
    [{ trustedProxies: 0.5 }, { code: 'InvalidArgument', message: /^trustedProxies must be/ }],
    [{ onError: 5 }, { name: 'TypeError', message: 'onError: must be a string, not number' }],
    [{ headers: 5 }, { name: 'TypeError', message: 'headers: must be a string, not number' }],
    [{ trustedProxies: -1 }, { code: 'InvalidArgument', message: /^trustedProxies must be/ }],
    [{ onError: 'raise' }, { code: 'InvalidArgument', message: /^onError must be/ }],
    [{ headers: 'none' }, { code: 'InvalidArgument', message: /^style: / }],
    [{ userId: 'alice' }, { name: 'TypeError', message: 'userId: must be a function, not string' }],
    [{ user: userOf }, { name: 'TypeError', message: /user is not known/ }],
  ]) {
    await assert.rejects(open(options, limiter), expected);
  }
});

everywhere('rules change while requests run', async (open, t) => {
  const place = mkdtempSync(join(tmpdir(), 'sluicegate-'));
  t.after(() => rmSync(place, { recursive: true }));
  const path = join(place, 'rules.json');
  const write = (limit) => {
    writeFileSync(`${path}.new`, JSON.stringify([rule('all', 'global', {}, { limit })]));
    renameSync(`${path}.new`, path);
  };
  write(100_000);
  const limiter = await RateLimiter.connect('memory://', { rules: path });
  const get = await open({}, limiter);
  let asked = 0;
  for (const limit of [1_000_000, 1_000_001, 1_000_002, 1]) {
    write(limit);
    for (let told; told !== `"all";q=${limit};w=3600`; asked++) {
      const { status, headers } = await get('/');
      // No request is lost, and none is decided by half a change.
      told = headers['ratelimit-policy'];
      assert.equal(status, told === '"all";q=1;w=3600' ? 429 : 200);
    }
  }
  write(1_000_000);
  while (limiter.rulesStatus().updates < 6) await new Promise((resolve) => setTimeout(resolve, 10));
  // The last of them was denied, and so changed nothing.
  assert.equal((await limiter.peek('all', 'global')).remaining, 1_000_000 - (asked - 1));
  await limiter.close();
});

everywhere('a rule that changes in ZooKeeper', async (open) => {
  const servers = await start('redis', 'zookeeper');
  const put = (verb, limit) => servers.order(verb, '/limits/all', JSON.stringify(rule('all', 'global', {}, { limit })));
  await put('create', 10);
  const limiter = await RateLimiter.connect(servers.redis, { rules: `zookeeper://${servers.zookeeper}/limits` });
  const get = await open({}, limiter);
  assert.equal((await get('/')).headers.ratelimit, '"all";r=9;t=3600');
  await put('set', 1);
  const end = Date.now() + 30_000;
  while ((await get('/')).status !== 429) assert.ok(Date.now() < end, 'the change was not seen');
  assert.equal((await get('/')).headers['ratelimit-policy'], '"all";q=1;w=3600');
  await limiter.close();
  await servers.stop();
});

each(FASTIFY, 'a hook is for all of the application, 404s included, and errors go to its logger', async (fastify, t) => {
  const lines = [];
  const app = fastify({ logger: { level: 'warn', stream: { write: (line) => lines.push(JSON.parse(line)) } } });
  t.after(() => app.close());
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  await app.register(forFastify, { limiter, userId: userOf });
  await app.register(async (inner) => inner.get('/:id', () => 'reached'), { prefix: '/orders' });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address();
  assert.equal((await ask(port, '/orders/7', as('alice'))).headers.ratelimit, '"users";r=1;t=3600');
  const missing = await ask(port, '/orders/7/x', as('alice'));
  assert.deepEqual([missing.status, missing.headers.ratelimit], [404, '"users";r=0;t=3600']);
  assert.deepEqual(lines, []);
  await limiter.close();
  assert.equal((await ask(port, '/orders/7', as('alice'))).status, 200);
  assert.deepEqual([lines[0].msg, lines[0].err.code], ['the limiter cannot decide', 'Closed']);
});

each(EXPRESS, 'a router may stand in between', async (express, t) => {
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  const app = express();
  app.use('/orders', forExpress(limiter, { userId: userOf }), (request, response) => response.send(request.url));
  const server = app.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { headers, body } = await ask(server.address().port, '/orders/7', as('alice'));
  assert.deepEqual([headers.ratelimit, body], ['"users";r=1;t=3600', '/7']);
});

each(FASTIFY, 'in HTTP/2 paths may have bytes that should have been encoded', async (fastify, t) => {
  const app = fastify({ http2: true });
  const rules = [rule('cheese', 'header:x-kind', { path_pattern: '/käse' })];
  await app.register(forFastify, { limiter: await RateLimiter.connect('memory://', { rules }) });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const session = http2.connect(`http://127.0.0.1:${app.server.address().port}`);
  // The server waits for its sessions.
  t.after(() => session.close(() => app.close()));
  const left = async (path) => {
    const stream = session.request({ ':path': path, 'x-kind': 'blue' });
    const [headers] = await once(stream, 'response');
    stream.close();
    return headers.ratelimit;
  };
  assert.equal(await left('/k%C3%A4se'), '"cheese";r=1;t=3600');
  assert.equal(await left(Buffer.from('/käse').toString('latin1')), '"cheese";r=0;t=3600');
});
