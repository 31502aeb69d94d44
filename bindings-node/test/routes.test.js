'use strict';

// Limits at routes, in real frameworks and over real HTTP.

const assert = require('node:assert/strict');
const { createServer } = require('node:net');
const { once } = require('node:events');
const { test } = require('node:test');
const express = require('express');
const { RateLimiter } = require('sluicegate');
const { routeLimits } = require('sluicegate/express');
const { ask } = require('./http.js');
const { FRAMEWORKS, RULES, open } = require('./route-sites.js');
const { redisFor } = require('./servers.js');

const onRedis = redisFor('routes');

/** A test in each framework. `site(options)` opens it, with a function that asks it for a path as a user. */
function everywhere(name, body) {
  for (const framework of Object.keys(FRAMEWORKS)) {
    test(`${name} (${framework})`, (t) => {
      const site = async (options) => {
        const opened = await open(t, framework, options);
        const get = (path, headers, method = 'GET') => ask(opened.port, path, { method, headers });
        const statuses = async (path, times, headers) => {
          const got = [];
          for (let at = 0; at < times; at++) got.push((await get(path, headers)).status);
          return got;
        };
        return { ...opened, get, statuses };
      };
      return body(site, t);
    });
  }
}

const ALICE = { 'x-user': 'alice' };
const BOB = { 'x-user': 'bob' };

everywhere('rates at a route are decided together', async (site) => {
  const { get, statuses } = await site(onRedis());
  const first = await get('/items/1', ALICE);
  assert.deepEqual([first.status, JSON.parse(first.body)], [200, { left: 2 }]);
  const policy = first.headers['ratelimit-policy'];
  assert.match(policy, /"site:\/items\/:id:3\/minute";q=3;w=60.*"site:\/items\/:id:100\/hour"/);
  assert.deepEqual(await statuses('/items/2', 3, ALICE), [200, 200, 429]);
  const denied = await get('/items/3', ALICE);
  assert.deepEqual([denied.headers['retry-after'], denied.headers['cache-control']], ['20', 'no-store']);
  assert.equal(denied.headers['ratelimit-policy'], policy);
  // What is denied has charged the other limit nothing.
  assert.match(denied.headers.ratelimit, /;r=97/);
  assert.equal((await get('/items/3', BOB)).status, 200);
});

everywhere('methods share a limit or have their own', async (site) => {
  const { get } = await site();
  const asked = async (path, ...methods) => {
    const got = [];
    for (const method of methods) got.push((await get(path, ALICE, method)).status);
    return got;
  };
  assert.deepEqual(await asked('/items/1', 'GET', 'POST', 'HEAD', 'GET'), [200, 200, 200, 429]);
  assert.deepEqual(await asked('/methods', 'GET', 'POST', 'HEAD'), [200, 200, 429]);
});

everywhere('calls of gRPC get a status of theirs', async (site) => {
  const { get } = await site();
  const web = { ...ALICE, 'content-type': 'application/grpc-web+proto' };
  const got = [];
  for (const path of ['/first', '/second', '/own']) got.push((await get(path, web, 'POST')).status);
  assert.deepEqual(got, [200, 200, 200]);
  const { status, body, headers } = await get('/first', web, 'POST');
  assert.deepEqual([status, body, headers['grpc-status'], headers['content-type']], [200, '', '8', web['content-type']]);
  assert.equal(headers['cache-control'], 'no-store');
  assert.equal(decodeURIComponent(headers['grpc-message']), `Try again in ${headers['retry-after']} seconds.`);
  assert.deepEqual([(await get('/first', web)).status, (await get('/first', ALICE, 'POST')).status], [429, 429]);
  // An answer of the application's own is sent as it is.
  const own = await get('/own', web, 'POST');
  assert.deepEqual([own.status, own.headers['grpc-status']], [418, undefined]);
});

everywhere('routes share a limit', async (site) => {
  const { get } = await site();
  const got = [];
  for (const path of ['/first', '/second', '/first']) got.push((await get(path, ALICE)).status);
  assert.deepEqual(got, [200, 200, 429]);
});

everywhere('a rule of the file with the limit of a plan', async (site) => {
  const { statuses } = await site();
  assert.deepEqual(await statuses('/plan', 3, ALICE), [200, 200, 429]);
  assert.deepEqual(await statuses('/plan', 6, { ...BOB, 'x-plan': 'gold' }), [200, 200, 200, 200, 200, 429]);
});

everywhere('rules of the file keep their identifiers', async (site) => {
  const { get, logged } = await site();
  const got = [];
  for (const user of [ALICE, BOB, ALICE]) got.push((await get('/address', user)).status);
  for (const item of '1121') got.push((await get(`/keyed/${item}`, ALICE)).status);
  assert.deepEqual(got, [200, 200, 429, 200, 200, 200, 429]);
  // The client's mistake, which fills no log.
  const { status, body } = await get('/keyed/1');
  assert.equal(status, 400);
  assert.match(body, /rule \\"by-item\\": the request has no header x-user/);
  assert.doesNotMatch(logged.join('\n'), /by-item/);
});

everywhere('a rule as data', async (site) => {
  assert.deepEqual(await (await site()).statuses('/data', 2, ALICE), [200, 429]);
});

for (const [path, answers, expected] of [
  ['/login', [200, 401, 200, 403, 401], [200, 401, 200, 403, 429]],
  ['/sales', [500, 200, 500, 200, 200], [500, 200, 500, 200, 429]],
  ['/created', [200, 201, 201], [200, 201, 429]],
]) {
  everywhere(`counting by the outcome: ${path}`, async (site) => {
    const { get } = await site();
    const got = [];
    for (const answer of answers) got.push((await get(path, { ...ALICE, 'x-answer': answer })).status);
    assert.deepEqual(got, expected);
  });
}

everywhere('guesses at the same time do not pass together', async (site) => {
  const { get } = await site(onRedis());
  const guesses = Array.from({ length: 20 }, () => get('/login', { ...ALICE, 'x-answer': '401' }));
  const got = (await Promise.all(guesses)).map(({ status }) => status).sort();
  assert.deepEqual(got, [401, 401, ...Array(18).fill(429)]);
});

everywhere('many clients are admitted exactly', async (site) => {
  const { get } = await site(onRedis());
  const asked = await Promise.all(Array.from({ length: 200 }, () => get('/bulk', ALICE)));
  assert.equal(asked.filter(({ status }) => status === 200).length, 10);
  assert.equal(asked.filter(({ status }) => status === 429).length, 190);
});

everywhere('a limit by the address alone', async (site) => {
  for (const options of [undefined, onRedis()]) {
    const { get } = await site(options);
    const asked = await Promise.all(Array.from({ length: 40 }, () => get('/plain')));
    const admitted = asked.filter(({ status }) => status === 200);
    assert.deepEqual(admitted.map(({ body }) => JSON.parse(body).left).sort(), [0, 1, 2, 3, 4]);
    assert.ok(admitted.every(({ headers }) => headers.ratelimit.startsWith('"site:/plain:5/day";r=')));
    const { status, headers } = asked.find((one) => one.status !== 200);
    assert.deepEqual([status, headers['retry-after'], headers['cache-control']], [429, '17280', 'no-store']);
    // Each client has its own.
    assert.equal((await get('/plain', { 'x-forwarded-for': '192.0.2.1' })).status, 200);
  }
});

everywhere('costs and exceptions', async (site) => {
  const { get, statuses } = await site();
  const got = [];
  for (const cost of ['4', '6', '1']) got.push((await get('/bulk', { ...ALICE, 'x-cost': cost })).status);
  assert.deepEqual(got, [200, 200, 429]);
  assert.deepEqual(await statuses('/health', 3, { 'x-probe': '1' }), [200, 200, 200]);
  const exempt = await get('/health', { 'x-probe': '1' });
  assert.deepEqual([JSON.parse(exempt.body), exempt.headers.ratelimit], [{ left: null }, undefined]);
  assert.deepEqual(await statuses('/health', 2), [200, 429]);
});

everywhere('an answer of its own', async (site) => {
  const { get } = await site();
  assert.equal((await get('/own')).status, 200);
  const { status, body, headers } = await get('/own');
  // Nest puts texts into JSON.
  assert.deepEqual([status, body.includes('own site:/own:1/minute')], [418, true]);
  assert.deepEqual([headers['retry-after'], headers['cache-control']], ['60', 'no-store']);
  assert.doesNotMatch(headers['content-type'], /problem/);
});

for (const [path, said] of [
  ['/broken', 'route /broken: key returned undefined'],
  ['/nobody', 'route /nobody: key returned 0'],
  ['/number', 'route /number: key returned a number'],
  ['/raising', 'route /raising: key threw SyntaxError'],
  ['/bulk', 'route /bulk: cost returned -1'],
]) {
  everywhere(`a mistake of the application is named: ${said}`, async (site) => {
    const { get, logged } = await site();
    const { status, body } = await get(path, { ...ALICE, 'x-cost': '-1' });
    assert.equal(status, 500);
    assert.ok(logged.join('\n').includes(said), logged.join('\n'));
    assert.doesNotMatch(`${logged} ${body}`, /secret|4915/);
  });
}

everywhere('an answer that is none is a mistake, which is named', async (site) => {
  const { statuses, logged } = await site();
  assert.deepEqual(await statuses('/unanswered', 2, ALICE), [200, 500]);
  const said = 'route /unanswered: onDenied returned a bigint';
  assert.ok(logged.join('\n').includes(said), logged.join('\n'));
});

everywhere('users are counted apart from addresses', async (site) => {
  const { get, statuses } = await site();
  const got = [];
  for (const user of ['127.0.0.1', '127.0.0.1', '7']) got.push((await get('/users', { 'x-user': user })).status);
  assert.deepEqual(got, [200, 429, 200]);
  assert.deepEqual(await statuses('/users', 2), [200, 429]);
  assert.equal((await get('/users', { 'x-forwarded-for': '192.0.2.1' })).status, 200);
});

everywhere('a place is free when the answer is there', async (site) => {
  assert.deepEqual(await (await site(onRedis())).statuses('/place', 5, ALICE), [200, 200, 200, 200, 200]);
});

everywhere('a request that nobody can decide', async (site) => {
  const gone = createServer().listen(0, '127.0.0.1');
  await once(gone, 'listening');
  const { port } = gone.address();
  gone.close();
  const away = { url: `redis://127.0.0.1:${port}` };
  const { get } = await site({ ...away, fallback: 'deny' });
  assert.deepEqual([(await get('/items/1', ALICE)).status, (await get('/plain')).status], [429, 429]);
  const open = await site({ ...away, lazy: true });
  assert.deepEqual([(await open.get('/items/1', ALICE)).status, (await open.get('/plain')).status], [200, 200]);
});

test('an answer that count cannot judge is charged', async (t) => {
  const limiter = await RateLimiter.connect('memory://', { rules: [] });
  const limits = routeLimits(limiter, { name: 'site', key: () => 'alice' });
  const logged = [];
  t.mock.method(console, 'error', (...said) => logged.push(said.join(' ')));
  t.mock.method(process, 'emitWarning', (said) => logged.push(String(said)));
  const app = express();
  const judges = { '/promise': () => Promise.resolve(false), '/throws': () => JSON.parse('secret-key') };
  for (const [path, count] of Object.entries(judges)) {
    app.get(path, limits('1/minute', { count }), (request, response) => response.send('answer'));
  }
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  for (const path of Object.keys(judges)) {
    const got = [];
    for (let at = 0; at < 2; at++) got.push((await ask(server.address().port, path, {})).status);
    assert.deepEqual(got, [200, 429], path);
  }
  assert.match(logged.join('\n'), /count returned a promise \(return true or false\)/);
  assert.match(logged.join('\n'), /count threw SyntaxError/);
  assert.doesNotMatch(logged.join('\n'), /secret/);
});

test('what can be known at the start is refused then', async () => {
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  const limits = routeLimits(limiter);
  for (const [stated, expected] of [
    ['5/minut', { code: 'InvalidRule', message: /did you mean "minute"/ }],
    ['plam', { code: 'UnknownRule', message: /no rule is called "plam"/ }],
    [[], { code: 'InvalidArgument', message: /a route needs a limit/ }],
    [undefined, { code: 'InvalidArgument', message: /a route needs a limit/ }],
    [5, { name: 'WrongTypeError', message: 'limits: must be a rate, the name of a rule, a rule, or an array of them, not number' }],
    [{ rule_id: 'a', rate: '5/minute', limt: 5 }, { code: 'InvalidRule' }],
  ]) {
    assert.throws(() => limits(stated), expected);
  }
  // Whatever limiter there will be.
  const later = routeLimits(() => limiter);
  for (const stated of ['5 per minute', '']) assert.throws(() => later(stated), { code: 'UnknownRule' });
  for (const [options, expected] of [
    [{ cout: 'all' }, { name: 'WrongTypeError', message: /cout is not known/ }],
    [{ name: 'a' }, { name: 'WrongTypeError', message: /name is not known/ }],
    [{ count: 'every' }, { code: 'InvalidArgument', message: 'count must be one of "all", "failures", "successes" or a function' }],
    [{ count: async () => true }, { code: 'InvalidArgument', message: /^count must be a function that is not async/ }],
    [{ key: 'x' }, { name: 'WrongTypeError', message: 'key: must be a function, not string' }],
    [{ cost: 0 }, { code: 'InvalidArgument', message: /^cost 0: must be a whole number, at least 1/ }],
    [{ limit: 0.5 }, { code: 'InvalidArgument', message: /^limit 0.5: must be/ }],
    [{ shared: '' }, { code: 'InvalidArgument', message: 'shared is empty' }],
    [{ cost: '2' }, { name: 'WrongTypeError', message: 'cost: must be a number, not string' }],
    [{ noAddress: 'admit' }, { code: 'InvalidArgument', message: /^noAddress must be one of/ }],
    [{ noAddress: () => 'skip' }, { name: 'WrongTypeError' }],
    [{ perMethod: 1 }, { name: 'WrongTypeError' }],
  ]) {
    assert.throws(() => limits('5/minute', options), expected);
  }
  assert.throws(() => routeLimits(5), { name: 'WrongTypeError', message: /^limiter: must be a RateLimiter, or a function/ });
  assert.throws(() => routeLimits(limiter, { name: '' }), { code: 'InvalidArgument', message: 'name is empty' });
  assert.throws(() => routeLimits(limiter, { key: 'x' }), { name: 'WrongTypeError' });
});
