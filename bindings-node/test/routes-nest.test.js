'use strict';

// What limits at routes of NestJS have of their own.

require('reflect-metadata');
const assert = require('node:assert/strict');
const { once } = require('node:events');
const { test } = require('node:test');
const { Catch, Controller, Get, Module, UseFilters, UseGuards } = require('@nestjs/common');
const { APP_FILTER, APP_GUARD, NestFactory } = require('@nestjs/core');
const { ThrottlerGuard, ThrottlerModule } = require('@nestjs/throttler');
const { MessageBody, SubscribeMessage, WebSocketGateway, WsException } = require('@nestjs/websockets');
const { WsAdapter } = require('@nestjs/platform-ws');
const { WebSocket } = require('ws');
const { RateLimiter } = require('sluicegate');
const { RateLimit, RateLimitGuard, RateLimitModule, RateLimitException } = require('sluicegate/nestjs');
const { SluicegateThrottlerStorage } = require('sluicegate/nestjs-throttler');
const { ask } = require('./http.js');

const connect = (rules = []) => RateLimiter.connect('memory://', { rules });

/** Decorates methods of a class as the syntax for it would. */
function decorated(type, methods) {
  for (const [name, decorators] of Object.entries(methods)) {
    for (const decorate of decorators.toReversed()) decorate(type.prototype, name, Object.getOwnPropertyDescriptor(type.prototype, name));
  }
  return type;
}

async function open(t, imports, controllers, providers = []) {
  class App {}
  Module({ imports, controllers, providers })(App);
  const app = await NestFactory.create(App, { logger: false });
  app.useWebSocketAdapter(new WsAdapter(app));
  await app.listen(0, '127.0.0.1');
  t.after(() => app.close());
  const { port } = app.getHttpServer().address();
  return Object.assign((path, options) => ask(port, path, options), { port, app });
}

test('the limit of a handler takes the place of that of its class, and is decided once', async (t) => {
  class Orders {
    list() {
      return 'list';
    }

    one() {
      return 'one';
    }
  }
  decorated(Orders, { list: [Get()], one: [Get(':order'), RateLimit('1/minute')] });
  RateLimit('2/minute')(Orders);
  Controller('orders')(Orders);
  const limiter = await connect();
  // The guard of the whole application is no second one.
  const guard = { provide: APP_GUARD, useClass: RateLimitGuard };
  const get = await open(t, [RateLimitModule.forRootAsync({ useFactory: async () => ({ limiter, name: 'shop' }) })], [Orders], [guard]);
  const got = [];
  for (const path of ['/orders', '/orders', '/orders', '/orders/7', '/orders/8']) got.push((await get(path)).status);
  assert.deepEqual(got, [200, 200, 429, 200, 429]);
  const { headers, body } = await get('/orders/9');
  assert.match(headers['ratelimit-policy'], /^"shop:\/orders\/:order:1\/minute"/);
  assert.deepEqual([headers['retry-after'], JSON.parse(body).title], ['60', 'Too Many Requests']);
});

test('an exception filter answers, and a guard before tells the user', async (t) => {
  class Site {
    get() {
      return 'reached';
    }
  }
  const signIn = { canActivate: (context) => (context.switchToHttp().getRequest().user = context.getArgByIndex(0).headers.authorization) };
  decorated(Site, { get: [Get(), RateLimit('1/minute', { userId: ({ user }) => user }), UseGuards(signIn)] });
  Controller()(Site);
  class Answer {
    catch(error, host) {
      host.switchToHttp().getResponse().status(420).send(error.decision.rule);
    }
  }
  Catch(RateLimitException)(Answer);
  const filter = { provide: APP_FILTER, useClass: Answer };
  const get = await open(t, [RateLimitModule.forRoot({ limiter: await connect() })], [Site], [filter]);
  const as = (authorization) => get('/', { headers: { authorization } });
  assert.deepEqual([(await as('alice')).status, (await as('bob')).status], [200, 200]);
  const { status, body } = await as('alice');
  assert.deepEqual([status, body], [420, 'routes:/:1/minute']);
});

test('messages of a WebSocket are limited one by one', async (t) => {
  class Chat {
    say(text) {
      return { event: 'said', data: text };
    }
  }
  decorated(Chat, { say: [SubscribeMessage('say'), RateLimit('2/minute')] });
  MessageBody()(Chat.prototype, 'say', 0);
  // Nest's own filter is for the clients of socket.io.
  class Answer {
    catch(error, host) {
      host.switchToWs().getClient().send(JSON.stringify({ event: 'exception', data: error.getError() }));
    }
  }
  Catch(WsException)(Answer);
  UseFilters(Answer)(Chat);
  WebSocketGateway()(Chat);
  const { port } = await open(t, [RateLimitModule.forRoot({ limiter: await connect() })], [], [Chat]);
  const socket = new WebSocket(`ws://127.0.0.1:${port}`);
  t.after(() => socket.terminate());
  await once(socket, 'open');
  const said = async (data) => {
    socket.send(JSON.stringify({ event: 'say', data }));
    return JSON.parse((await once(socket, 'message'))[0]);
  };
  assert.deepEqual([await said('a'), await said('b')], [{ event: 'said', data: 'a' }, { event: 'said', data: 'b' }]);
  const { event, data } = await said('c');
  assert.equal(event, 'exception');
  assert.match(JSON.stringify(data), /Too Many Requests.*ws:Chat.say:2\/minute/);
});

test('what is not valid is refused when the class is defined', () => {
  assert.throws(() => RateLimit('5/minut'), { code: 'InvalidRule' });
  assert.throws(() => RateLimit([]), { code: 'InvalidArgument' });
  assert.throws(() => RateLimitModule.forRoot({}), { message: /^limiter: must be a RateLimiter/ });
});

test('without the module the application does not start', async (t) => {
  class Site {
    get() {}
  }
  decorated(Site, { get: [Get(), RateLimit('1/minute')] });
  Controller()(Site);
  class App {}
  Module({ controllers: [Site] })(App);
  await assert.rejects(NestFactory.create(App, { logger: false, abortOnError: false }), /RateLimitGuard/);
});

test('@nestjs/throttler with its storage', async (t) => {
  class Site {
    get() {
      return 'reached';
    }
  }
  decorated(Site, { get: [Get()] });
  Controller()(Site);
  const storage = new SluicegateThrottlerStorage(await connect());
  const throttlers = [{ ttl: 60_000, limit: 2, blockDuration: 30_000 }];
  const guard = { provide: APP_GUARD, useClass: ThrottlerGuard };
  const get = await open(t, [ThrottlerModule.forRoot({ throttlers, storage })], [Site], [guard]);
  assert.deepEqual([(await get('/')).status, (await get('/')).headers['x-ratelimit-remaining']], [200, '0']);
  const denied = await get('/');
  assert.deepEqual([denied.status, denied.headers['retry-after']], [429, '30']);
});
