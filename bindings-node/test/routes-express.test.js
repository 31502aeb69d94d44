'use strict';

// What limits at routes of Express have of their own.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { request } = require('node:http');
const { RateLimiter } = require('sluicegate');
const { rateLimit, routeLimits } = require('sluicegate/express');
const { EXPRESS, each, serve } = require('./frameworks.js');
const { ask } = require('./http.js');

const policyOf = ({ headers }) => headers['ratelimit-policy'];
const connect = (rules = []) => RateLimiter.connect('memory://', { rules });
const answer = (request, response) => response.send('reached');

each(EXPRESS, 'a limit is named after the templates of all routers above', async (express, t) => {
  const limits = routeLimits(await connect(), { name: 'n', key: () => 'all' });
  const app = express();
  const limit = limits('100/minute');
  const orders = express.Router();
  orders.get('/:order', limit, answer);
  orders.use('/parts', limits('50/minute'), answer);
  const user = express.Router();
  user.use('/orders', orders);
  app.use('/orders', orders);
  app.use('/users/:user', user);
  const shop = express();
  shop.get('/items/:item', limit, answer);
  shop.use('/inner', orders);
  app.use('/shop', shop);
  app.use('/everything', limits('70/minute'), answer);
  app.use(limits('80/minute'), answer);
  const port = await serve(t, app);
  for (const [path, name, limit] of [
    ['/orders/7', '/orders/:order', 100],
    ['/ORDERS/8', '/orders/:order', 100],
    ['/users/9/orders/7', '/users/:user/orders/:order', 100],
    ['/users/orders/orders/7', '/users/:user/orders/:order', 100],
    ['/shop/items/7', '/shop/items/:item', 100],
    ['/shop/inner/7', '/shop/inner/:order', 100],
    ['/orders/parts/7', '/orders/parts', 50],
    ['/everything/else', '/everything', 70],
    ['/elsewhere', '/', 80],
  ]) {
    assert.equal(policyOf(await ask(port, path)), `"n:${name}:${limit}/minute";q=${limit};w=60`, path);
  }
});

each(EXPRESS, 'a limit comes after authentication, and the handler sees its decision', async (express, t) => {
  const limiter = await connect();
  const app = express();
  const signedIn = (request, response, next) => {
    request.user = request.get('authorization');
    next();
  };
  const limits = routeLimits((request) => request.app.locals.limiter, { userId: ({ user }) => user });
  app.locals.limiter = limiter;
  app.get('/', signedIn, limits('1/hour'), (request, response) => response.json(request.rateLimit.rule));
  const port = await serve(t, app);
  const get = (user) => ask(port, '/', { headers: { authorization: user } });
  assert.deepEqual((await get('alice')).body, '"routes:/:1/hour"');
  assert.deepEqual([(await get('alice')).status, (await get('bob')).status], [429, 200]);
});

each(EXPRESS, 'onDenied may leave the answer to the application', async (express, t) => {
  const limits = routeLimits(await connect(), {
    onDenied: (request, decision, response, next) => next(Object.assign(new Error(decision.rule), { status: 420 })),
  });
  const app = express();
  app.get('/', limits('1/hour'), answer);
  app.use((error, request, response, next) => response.status(error.status).send(error.message));
  const port = await serve(t, app);
  await ask(port, '/');
  const { status, body } = await ask(port, '/');
  assert.deepEqual([status, body], [420, 'routes:/:1/hour']);
});

each(EXPRESS, 'onDenied may answer later, whatever number or boolean it returns', async (express, t) => {
  const app = express();
  const limits = routeLimits(await connect());
  const later = (response) => void setImmediate(() => response.status(420).send('later'));
  app.get('/number', limits('1/hour', { onDenied: (request, decision, response) => (later(response), 1) }), answer);
  app.get('/boolean', limits('1/hour', { onDenied: (request, decision, response) => (later(response), true) }), answer);
  const port = await serve(t, app);
  for (const path of ['/number', '/boolean']) {
    await ask(port, path);
    const { status, body } = await ask(port, path);
    assert.deepEqual([status, body], [420, 'later'], path);
  }
});

each(EXPRESS, 'an error with a status, which a function throws, is the answer', async (express, t) => {
  const key = () => {
    throw Object.assign(new Error('who are you?'), { status: 401, expose: true });
  };
  const app = express();
  app.get('/', routeLimits(await connect())('1/hour', { key }), answer);
  assert.equal((await ask(await serve(t, app), '/')).status, 401);
});

each(EXPRESS, 'errors of handlers pass through, and are failures', async (express, t) => {
  const app = express();
  app.get('/', routeLimits(await connect())('1/hour', { count: 'failures' }), () => {
    throw new Error('broken');
  });
  app.use((error, request, response, next) => response.status(500).send(error.message));
  const port = await serve(t, app);
  assert.equal((await ask(port, '/')).body, 'broken');
  assert.equal((await ask(port, '/')).status, 429);
});

each(EXPRESS, 'a client that hangs up gives its place back', async (express, t) => {
  const limiter = await connect([{ rule_id: 'place', algorithm: 'concurrency', limit: 1 }]);
  const app = express();
  let reached;
  app.get('/', routeLimits(limiter, { key: () => 'all' })('place'), (request, response) => reached(response));
  const port = await serve(t, app);
  const arrived = new Promise((resolve) => (reached = resolve));
  const asked = request({ host: '127.0.0.1', port, path: '/', agent: false }).on('error', () => {});
  asked.end();
  const response = await arrived;
  assert.equal((await ask(port, '/')).status, 429);
  asked.destroy();
  await once(response, 'close');
  reached = (next) => next.send('reached');
  assert.equal((await ask(port, '/')).status, 200);
});

each(EXPRESS, 'what is charged and given back by functions of the response', async (express, t) => {
  const limiter = await connect();
  const decisions = [];
  const limits = routeLimits(limiter, { key: () => 'all', onDecision: (request, { remaining }) => decisions.push(remaining) });
  const app = express();
  app.get('/', limits('2/hour', { count: (response) => response.getHeader('x-charge') === '1' }), (request, response) => {
    response.set('x-charge', request.query.charge).send('reached');
  });
  const port = await serve(t, app);
  for (const charge of [0, 0, 1, 0, 1, 0]) await ask(port, `/?charge=${charge}`);
  assert.deepEqual(decisions, [1, 1, 1, 0, 0, 0]);
});

each(EXPRESS, 'requests without an address', async (express, t) => {
  const limiter = await connect();
  const app = express();
  // As of a Unix socket.
  app.use((request, response, next) => {
    Object.defineProperty(request.socket, 'remoteAddress', { value: undefined, configurable: true });
    next();
  });
  const limits = routeLimits(limiter);
  for (const noAddress of ['shared', 'deny', 'skip']) app.get(`/${noAddress}`, limits('1/hour', { noAddress }), answer);
  const port = await serve(t, app);
  const got = [];
  const warned = once(process, 'warning');
  for (const path of ['/shared', '/shared', '/deny', '/skip', '/skip']) got.push((await ask(port, path)).status);
  assert.deepEqual(got, [200, 429, 400, 200, 200]);
  if (express === EXPRESS['express 4']) assert.match((await warned)[0].message, /requests without an address/);
});

each(EXPRESS, 'limits that are off', async (express, t) => {
  const warned = once(process, 'warning');
  const limits = routeLimits(await connect(), { enabled: false });
  assert.match((await warned)[0].message, /limits of routes are off/);
  const app = express();
  app.get('/', limits('1/hour'), answer);
  const port = await serve(t, app);
  for (let at = 0; at < 3; at++) assert.equal((await ask(port, '/')).status, 200);
});

each(EXPRESS, 'a rule that a reload has removed is a mistake, not an admission', async (express, t) => {
  const limiter = await connect([{ rule_id: 'here', rate: '5/minute' }]);
  const app = express();
  app.use((request, response, next) => next());
  const later = Object.create(limiter, { checkAll: { value: () => {} } });
  later.rulesStatus = () => ({ version: '2' });
  later.rules = () => [];
  app.get('/', routeLimits(() => later)('here'), answer);
  app.use((error, request, response, next) => response.status(500).send(error.message));
  const { status, body } = await ask(await serve(t, app), '/');
  assert.deepEqual([status, body.startsWith('no rule is called "here"')], [500, true]);
});

each(EXPRESS, 'the middleware of all routes and a limit at one of them', async (express, t) => {
  const limiter = await connect([{ rule_id: 'all', rate: '5/minute', identifier_type: 'global', match: {} }]);
  const app = express();
  app.use(rateLimit(limiter));
  app.get('/', routeLimits(limiter, { skip: ({ query }) => 'skip' in query })('1/minute'), (request, response) => {
    response.send(request.rateLimit.rule);
  });
  const port = await serve(t, app);
  assert.equal((await ask(port, '/')).body, 'routes:/:1/minute');
  // The decision of the middleware is still there.
  assert.equal((await ask(port, '/?skip')).body, 'all');
});
