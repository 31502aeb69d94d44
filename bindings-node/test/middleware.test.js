'use strict';

// The middleware in the real frameworks, over real HTTP.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, renameSync, rmSync, writeFileSync } = require('node:fs');
const http2 = require('node:http2');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { test } = require('node:test');
const { promisify } = require('node:util');
const { RateLimiter } = require('sluicegate');
const { rateLimit: forExpress } = require('sluicegate/express');
const { rateLimit: forFastify } = require('sluicegate/fastify');
const { EXPRESS, FASTIFY, RULES, as, each, everywhere, rule, userOf } = require('./frameworks.js');
const { ask } = require('./http.js');
const { start } = require('./servers.js');

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

everywhere('an API key is found by a function or in a header', async (open) => {
  for (const apiKey of ['X-API-Key', async (request) => request.headers['x-api-key']]) {
    const get = await open({ apiKey });
    for (const [key, status] of [['a', 200], ['a', 200], ['a', 429], ['b', 200]]) {
      assert.equal((await get('/api/x', { headers: { 'x-api-key': key } })).status, status);
    }
    assert.equal((await get('/api/x')).headers.ratelimit, undefined);
  }
});

everywhere('a limiter may still be on its way', async (open) => {
  const get = await open({}, RateLimiter.connect('memory://', { rules: RULES }));
  assert.equal((await get('/orders/7', as('alice'))).status, 200);
  const failed = await open({}, Promise.reject(new Error('no limiter')));
  assert.equal((await failed('/orders/7', as('alice'))).status, 500);
  await assert.rejects(open({ trustedProxies: -1 }, RateLimiter.connect('memory://', { rules: RULES })), /trustedProxies/);
  const lazy = RateLimiter.connect('redis://127.0.0.1:1', { rules: RULES, lazy: true });
  const away = await open({ userId: userOf, onError: 'deny', log: () => {} }, lazy);
  assert.equal((await away('/orders/7', as('alice'))).status, 503);
});

everywhere('values of headers are UTF-8', async (open) => {
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  const get = await open({}, limiter);
  await get.raw('GET /agents HTTP/1.1\r\nHost: a\r\nX-Agent: müller\r\nConnection: close\r\n\r\n');
  assert.equal((await limiter.peek('agents', 'müller')).remaining, 1);
});

everywhere('the address is that of the peer, unless proxies are trusted', async (open) => {
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  const charged = async (options, forwarded, rfc7239 = []) => {
    const headers = { ...(forwarded === undefined ? {} : { 'X-Forwarded-For': forwarded }), Forwarded: rfc7239 };
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
  for (const six of ['2001:db8::1', '[2001:db8::1]', '[2001:db8::1]:4711', '2001:db8::1%eth0']) {
    assert.equal(await charged({ trustedProxies: 1 }, six), '2001:db8::/64');
  }
  const brackets = ['[192.0.2.1', '[::1]x', `[${':'.repeat(8000)}`];
  for (const none of ['unknown', '', '192.0.2.1,', '1.2.3', '192.0.2.1:x', '[192.0.2.1]', ...brackets]) {
    assert.equal(await charged({ trustedProxies: 1 }, none), '127.0.0.1', none);
  }
  const networks = ['127.0.0.0/8', '::1', '10.0.0.0/8'];
  assert.equal(await charged({ trustedProxies: networks }, '6.6.6.6, 192.0.2.1, 10.1.1.1'), '192.0.2.1');
  assert.equal(await charged({ trustedProxies: ['10.0.0.0/8'] }, '192.0.2.1'), '127.0.0.1');
  const six = ['for=6.6.6.6', 'for="[2001:db8::1]:80";proto=https'];
  assert.equal(await charged({ trustedProxies: 1, forwardedHeader: 'forwarded' }, '6.6.6.6', six), '2001:db8::/64');
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
  const logged = [];
  const log = (error) => logged.push(error.code);
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
    detail: 'The rate limiter is unavailable; try again.',
  }]);
  assert.deepEqual(logged, ['Connection', 'Connection']);
  const thrown = await throwing('/login');
  assert.deepEqual([thrown.status, thrown.body.split(':')[0]], [500, 'SluicegateError']);
  assert.equal(logged.length, 2);
  await limiter.close();
});

everywhere('an application sees what rules in shadow would deny', async (open) => {
  const tried = rule('tried', 'global', {}, { limit: 1, shadow: true });
  // A decision by one rule has no parts.
  for (const rules of [[tried], [rule('all', 'global', {}), tried]]) {
    const limiter = await RateLimiter.connect('memory://', { rules });
    const get = await open({ log() {} }, limiter);
    for (const expected of [{ rules: [] }, { rules: ['tried'] }]) {
      const { status, body } = await get('/shadow');
      assert.deepEqual([status, JSON.parse(body)], [200, expected]);
    }
    await limiter.close();
    assert.deepEqual(JSON.parse((await get('/shadow')).body), { undecided: true });
  }
});

const PLANS = [
  { rule_id: 'free', rate: '1/minute' },
  { rule_id: 'gold', limits: [{ rate: '2/minute' }, { rate: '1000/day' }] },
  rule('orders', 'user_id', { path_pattern: '/orders/*' }),
];

everywhere('an application chooses the rules of a request', async (open) => {
  const limiter = await RateLimiter.connect('memory://', { rules: PLANS });
  const rules = async ({ headers }) => (headers['x-plan'] === 'all' ? undefined : [headers['x-plan'] ?? 'free', 'orders']);
  const get = await open({ userId: userOf, rules }, limiter);
  const asked = async (path, user, plan) => (await get(path, { headers: { authorization: user, ...(plan && { 'x-plan': plan }) } })).status;
  assert.deepEqual([await asked('/', 'alice'), await asked('/', 'alice'), await asked('/', 'bob')], [200, 429, 200]);
  // Decided together with the rule that matches.
  const got = [];
  for (let at = 0; at < 3; at++) got.push(await asked('/orders/7', 'carol', 'gold'));
  assert.deepEqual(got, [200, 200, 429]);
  assert.equal((await limiter.peek('orders', 'carol')).remaining, 0);
  assert.equal(await asked('/', 'alice', 'all'), 200);
  const { status } = await get('/', { headers: { 'x-plan': 'silver' } });
  assert.equal(status, 500);
  const { body } = await (await open({ rules: async () => [] }, limiter))('/');
  const advice = 'return `undefined` for all rules that match; `skip` exempts requests';
  assert.equal(body, `HookError: middleware: rules returned an empty array (${advice})`);
});

everywhere('exceptions, costs and an answer of its own', async (open) => {
  const decisions = [];
  const get = await open({
    userId: userOf,
    skip: ({ headers }) => headers['x-probe'] === '1',
    cost: ({ headers }) => Number(headers['x-cost'] ?? 1),
    onDecision: (request, decision) => decisions.push(decision.allowed),
    // The last is a reply of Fastify, or the response of Express before `next`.
    onDenied: (request, decision, response) => (response.status(418), response.send(`own ${decision.rule}`)),
  });
  const asked = (headers) => get('/orders/7', { headers: { authorization: 'alice', ...headers } });
  assert.equal((await asked({ 'x-cost': '2' })).status, 200);
  const { status, headers, body } = await asked();
  assert.deepEqual([status, body, headers['retry-after'], headers['cache-control']], [418, 'own users', '3600', 'no-store']);
  assert.equal((await asked({ 'x-probe': '1' })).status, 200);
  assert.deepEqual(decisions, [true, false]);
  const wrong = await asked({ 'x-cost': '0' });
  assert.equal(wrong.body, 'HookError: middleware: cost returned 0 (return a whole number from 1 on; `skip` exempts requests)');
});

everywhere('the limit of a plan takes the place of that of the rules', async (open) => {
  const rules = [...RULES, { rule_id: 'several', limits: [{ rate: '5/minute' }, { rate: '9/day' }] }];
  const limiter = await RateLimiter.connect('memory://', { rules });
  const limit = ({ headers }) => (headers['x-plan'] === 'gold' ? 3 : headers['x-plan'] && Number(headers['x-plan']));
  const get = await open({ userId: userOf, limit }, limiter);
  const asked = async (user, plan, times) => {
    const got = [];
    for (let at = 0; at < times; at++) got.push((await get('/orders/7', { headers: { authorization: user, ...(plan && { 'x-plan': plan }) } })).status);
    return got;
  };
  assert.deepEqual(await asked('alice', undefined, 3), [200, 200, 429]);
  assert.deepEqual(await asked('bob', 'gold', 4), [200, 200, 200, 429]);
  assert.deepEqual(await asked('carol', '0', 1), [500]);
  // No rule matches.
  assert.equal((await get('/elsewhere')).status, 200);
  const several = await (await open({ rules: ['several'], limit: 7 }, limiter))('/');
  assert.deepEqual([several.status, several.body], [500, 'HookError: middleware: rule "several": a limit can be given only for a rule with a single limit']);
});

everywhere('a request costs as much as its body is long', async (open) => {
  const rules = [rule('bytes', 'global', {}, { limit: 100 })];
  const limiter = await RateLimiter.connect('memory://', { rules });
  const get = await open({ cost: ({ headers }) => Math.max(1, Number(headers['content-length'] ?? 1)) }, limiter);
  const send = (length) => get('/', { method: 'POST', headers: { 'content-length': length, 'content-type': 'text/plain' }, body: 'x'.repeat(length) });
  const got = [];
  for (const length of [60, 41, 40, 1]) got.push((await send(length)).status);
  assert.deepEqual(got, [200, 429, 200, 429]);
});

everywhere('an answer that is none is a mistake, which is named', async (open) => {
  const get = await open({ userId: userOf, onDenied: () => 5n });
  const got = [];
  for (let at = 0; at < 3; at++) got.push(await get('/orders/7', as('alice')));
  assert.deepEqual(got.map(({ status }) => status), [200, 200, 500]);
  assert.match(got[2].body, /^HookError: middleware: onDenied returned a bigint/);
});

everywhere('what is reserved is charged by the outcome', async (open) => {
  const rules = [rule('all', 'global', {}, { reservations: true, window_start: undefined })];
  const limiter = await RateLimiter.connect('memory://', { rules });
  const get = await open({ count: 'failures' }, limiter);
  const left = () => limiter.peek('all', 'global').then(({ remaining }) => remaining);
  for (let at = 0; at < 3; at++) assert.equal((await get('/')).status, 200);
  assert.equal(await left(), 2);
  await get('/broken');
  assert.equal(await left(), 1);
  const judging = await open({ count: (response) => response.getHeader('x') !== undefined }, limiter);
  await judging('/broken');
  assert.equal(await left(), 1);
});

test('NODE_DEBUG says what rules in shadow would deny', async () => {
  const env = { ...process.env, NODE_DEBUG: 'sluicegate' };
  const { stderr } = await promisify(execFile)(process.execPath, [join(__dirname, 'shadow.js')], { env });
  assert.deepEqual(stderr.match(/a rule in shadow .*/g), ['a rule in shadow would deny this request: tried']);
});

everywhere('mistakes of the application are thrown to the framework', async (open) => {
  const broken = await open({ userId: () => JSON.parse('{') });
  assert.match((await broken('/orders/7')).body, /^SyntaxError/);
  for (const [user, said] of [['', '""'], [0, '0']]) {
    const nobody = await open({ userId: () => user });
    const { status, body } = await nobody('/orders/7');
    assert.deepEqual([status, body.slice(0, body.indexOf(' ('))], [500, `HookError: middleware: userId returned ${said}`]);
  }
  const wrong = await open({ userId: async () => true });
  assert.equal((await wrong('/orders/7')).body, 'WrongTypeError: userId: must be a string or an integer, not boolean');
});

everywhere('options are checked before any request', async (open) => {
  const limiter = await RateLimiter.connect('memory://', { rules: [] });
  await assert.rejects(open({}, {}), { name: 'WrongTypeError', message: 'limiter: must be a RateLimiter, not object' });
  for (const [options, expected] of [
    [{ trustedProxies: true }, { name: 'WrongTypeError', message: 'trustedProxies: must be a number, not boolean' }],
    [{ trustedProxies: 0.5 }, { code: 'InvalidArgument', message: /^trustedProxies must be/ }],
    [{ onError: 5 }, { name: 'WrongTypeError', message: 'onError: must be a string, not number' }],
    [{ headers: 5 }, { name: 'WrongTypeError', message: 'headers: must be a string, not number' }],
    [{ trustedProxies: ['10.0.0.0/40'] }, { code: 'InvalidArgument', message: /^trusted_proxies: "10.0.0.0\/40" is no network/ }],
    [{ trustedProxies: [7] }, { name: 'WrongTypeError', message: /^trustedProxies\[0\]: must be a string/ }],
    [{ cost: 0 }, { code: 'InvalidArgument', message: /^cost 0: must be a whole number, at least 1/ }],
    [{ limit: 0.5 }, { code: 'InvalidArgument', message: /^limit 0.5: must be a whole number, at least 1/ }],
    [{ rules: [] }, { code: 'InvalidArgument', message: /^rules is empty/ }],
    [{ forwardedHeader: 'via' }, { code: 'InvalidArgument', message: /^forwardedHeader must be/ }],
    [{ trustedProxies: -1 }, { code: 'InvalidArgument', message: /^trustedProxies must be/ }],
    [{ onError: 'raise' }, { code: 'InvalidArgument', message: /^onError must be/ }],
    [{ maxLeaseSeconds: 0 }, { code: 'InvalidArgument', message: 'maxLeaseSeconds 0: must be above 0 and finite' }],
    [{ maxLeaseSeconds: '1' }, { name: 'WrongTypeError', message: 'maxLeaseSeconds: must be a number, not string' }],
    [{ headers: 'draft' }, { code: 'InvalidArgument', message: /^style: / }],
    [{ userId: 'alice' }, { name: 'WrongTypeError', message: 'userId: must be a function, not string' }],
    [{ count: 'failures' }, { code: 'InvalidRule', message: /^count by the outcome needs rules with reservations/ }],
    [{ rules: ['plam'] }, { code: 'UnknownRule' }],
    [{ rules: 'users' }, { name: 'WrongTypeError' }],
    [{ skip: true }, { name: 'WrongTypeError', message: 'skip: must be a function, not boolean' }],
    [{ user: userOf }, { name: 'WrongTypeError', message: /user is not known/ }],
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
    for (let policy; policy !== `"all";q=${limit};w=3600`; asked++) {
      const { status, headers } = await get('/');
      // No request is lost, and none is decided by half a change.
      policy = headers['ratelimit-policy'];
      assert.equal(status, policy === '"all";q=1;w=3600' ? 429 : 200);
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
