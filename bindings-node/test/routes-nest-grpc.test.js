'use strict';

// Limits at handlers of microservices of NestJS, which a real client of gRPC calls; and of another transport.

require('reflect-metadata');
const assert = require('node:assert/strict');
const { once } = require('node:events');
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { createServer } = require('node:net');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { after, before, test } = require('node:test');
const grpc = require('@grpc/grpc-js');
const { loadSync } = require('@grpc/proto-loader');
const { Controller, Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { ClientProxyFactory, GrpcMethod, GrpcStreamCall, GrpcStreamMethod, MessagePattern, RpcException, Transport } = require('@nestjs/microservices');
const { firstValueFrom, of, reduce } = require('rxjs');
const { RateLimiter } = require('sluicegate');
const { RateLimit, RateLimitModule } = require('sluicegate/nestjs');

const PROTO = `syntax = "proto3";
package shop;
service Orders {
  rpc Place (Order) returns (Order);
  rpc Named (Order) returns (Order);
  rpc Own (Order) returns (Order);
  rpc Header (Order) returns (Order);
  rpc Watch (Order) returns (stream Order);
  rpc Talk (stream Order) returns (stream Order);
  rpc Call (stream Order) returns (stream Order);
  rpc Mistaken (stream Order) returns (stream Order);
  rpc Collect (stream Order) returns (Order);
}
message Order { string name = 1; }
`;
const RULES = [{ rule_id: 'named', rate: '1/hour' }, { rule_id: 'key', rate: '1/hour', identifier_type: 'header:x-user' }];
const own = () => new RpcException({ code: grpc.status.PERMISSION_DENIED, message: 'own' });

let folder;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluicegate-'));
  writeFileSync(join(folder, 'shop.proto'), PROTO);
});
after(() => rmSync(folder, { recursive: true }));

/** A class whose methods answer with what they get. */
function orders() {
  class Orders {
    place(order) {
      return order;
    }

    named(order) {
      return order;
    }

    own(order) {
      return order;
    }

    header(order) {
      return order;
    }

    watch(order) {
      return of(order, order);
    }

    talk(orders) {
      return orders;
    }

    call(stream) {
      stream.on('data', (order) => stream.write(order)).on('end', () => stream.end());
    }

    mistaken(stream) {
      stream.end();
    }

    collect(orders) {
      return orders.pipe(reduce((all, { name }) => ({ name: all.name + name }), { name: '' }));
    }

    message(data) {
      return data;
    }
  }
  const byUser = { key: (data, context) => String(context.getArgByIndex(1).get('x-user')[0] ?? 'nobody') };
  const decorators = {
    place: [GrpcMethod('Orders', 'Place'), RateLimit('1/minute', byUser)],
    named: [GrpcMethod('Orders', 'Named'), RateLimit('named')],
    own: [GrpcMethod('Orders', 'Own'), RateLimit('1/minute', { onDenied: own })],
    header: [GrpcMethod('Orders', 'Header'), RateLimit('key')],
    watch: [GrpcMethod('Orders', 'Watch'), RateLimit('1/minute')],
    talk: [GrpcStreamMethod('Orders', 'Talk'), RateLimit('1/minute')],
    call: [GrpcStreamCall('Orders', 'Call'), RateLimit('1/minute')],
    mistaken: [GrpcStreamCall('Orders', 'Mistaken'), RateLimit('1/minute', { key: () => undefined })],
    collect: [GrpcStreamMethod('Orders', 'Collect'), RateLimit('1/minute')],
    message: [MessagePattern('message'), RateLimit('1/minute', { key: () => 'all' })],
  };
  for (const [name, decorate] of Object.entries(decorators)) {
    const property = Object.getOwnPropertyDescriptor(Orders.prototype, name);
    for (const each of decorate.toReversed()) each(Orders.prototype, name, property);
    // Those of streams put a function around the method.
    Object.defineProperty(Orders.prototype, name, property);
  }
  Controller()(Orders);
  return Orders;
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

async function microservice(t, transport, options, defaults = {}) {
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  class App {}
  Module({ imports: [RateLimitModule.forRoot({ limiter, name: 'shop', log() {}, ...defaults })], controllers: [orders()] })(App);
  const app = await NestFactory.createMicroservice(App, { transport, options, logger: false });
  await app.listen();
  t.after(async () => {
    await app.close();
    await limiter.close();
  });
  return limiter;
}

/** Serves, and returns a function that calls a method, and the client. */
async function open(t, defaults) {
  const url = `127.0.0.1:${await freePort()}`;
  const protoPath = join(folder, 'shop.proto');
  const limiter = await microservice(t, Transport.GRPC, { package: 'shop', protoPath, url }, defaults);
  const { Orders } = /** @type {any} */ (grpc.loadPackageDefinition(loadSync(protoPath))).shop;
  const client = new Orders(url, grpc.credentials.createInsecure());
  t.after(() => client.close());
  const call = (method, user) => new Promise((resolve, reject) => {
    const metadata = new grpc.Metadata();
    if (user !== undefined) metadata.set('x-user', user);
    client[method]({ name: 'a' }, metadata, (error, answer) => (error ? reject(error) : resolve(answer.name)));
  });
  return { call, client, limiter };
}

function deniedBy(rule, wait) {
  return ({ code, details, metadata }) => {
    assert.deepEqual([code, details], [grpc.status.RESOURCE_EXHAUSTED, `Try again in ${wait} seconds.`]);
    const { 'retry-after': after, ratelimit, 'ratelimit-policy': policy } = metadata.getMap();
    assert.deepEqual([after, ratelimit], [wait, `"${rule}";r=0;t=${wait}`]);
    assert.match(String(policy), new RegExp(`^"${rule}";q=1`));
    return true;
  };
}

test('a denied call of gRPC ends with RESOURCE_EXHAUSTED, and metadata says when to try again', async (t) => {
  const { call, client } = await open(t);
  assert.equal(await call('place', 'alice'), 'a');
  await assert.rejects(call('place', 'alice'), deniedBy('shop:rpc:Orders.place:1/minute', '60'));
  assert.equal(await call('place', 'bob'), 'a');
  // Counted by the address of the client.
  assert.equal(await call('named'), 'a');
  await assert.rejects(call('named'), deniedBy('named', '3600'));
  await call('own');
  await assert.rejects(call('own'), { code: grpc.status.PERMISSION_DENIED, details: 'own' });
  // By metadata, as by a header.
  assert.deepEqual([await call('header', 'alice'), await call('header', 'bob')], ['a', 'a']);
  await assert.rejects(call('header', 'bob'), { code: grpc.status.RESOURCE_EXHAUSTED });
  await assert.rejects(call('header'), { code: grpc.status.INVALID_ARGUMENT });
  const watch = () => new Promise((resolve, reject) => {
    const got = [];
    client.watch({ name: 'b' }).on('data', ({ name }) => got.push(name)).on('error', reject).on('end', () => resolve(got));
  });
  assert.deepEqual(await watch(), ['b', 'b']);
  await assert.rejects(watch(), { code: grpc.status.RESOURCE_EXHAUSTED });
});

test('a call in which the client streams is denied once, before any message is handled', async (t) => {
  const logged = [];
  const { client } = await open(t, { log: (error) => logged.push(error) });
  const send = (stream) => {
    for (const name of ['a', 'b']) stream.write({ name });
    stream.end();
  };
  const both = (method) => new Promise((resolve, reject) => {
    const got = [];
    const stream = client[method]().on('data', ({ name }) => got.push(name)).on('error', (error) => reject(Object.assign(error, { got })));
    send(stream.on('end', () => resolve(got)));
  });
  const collect = () => new Promise((resolve, reject) => {
    send(client.collect((error, answer) => (error ? reject(error) : resolve(answer.name))));
  });
  for (const [method, rule] of [['talk', 'shop:rpc:Orders.talk:1/minute'], ['call', 'shop:rpc:Orders.call:1/minute']]) {
    assert.deepEqual(await both(method), ['a', 'b']);
    await assert.rejects(both(method), (error) => deniedBy(rule, '60')(error) && assert.deepEqual(error.got, []) === undefined);
  }
  await assert.rejects(both('mistaken'), { code: grpc.status.UNKNOWN, details: 'Internal server error' });
  assert.match(String(logged), /route rpc:Orders\.mistaken: key returned undefined/);
  assert.equal(await collect(), 'ab');
  await assert.rejects(collect(), deniedBy('shop:rpc:Orders.collect:1/minute', '60'));
});

test('a call of gRPC that cannot be decided finds the service unavailable', async (t) => {
  const { call, limiter } = await open(t, { onError: 'deny' });
  await call('place');
  await limiter.close();
  await assert.rejects(call('place'), { code: grpc.status.UNAVAILABLE });
});

test('a message of another transport is denied with problem details', async (t) => {
  const options = { host: '127.0.0.1', port: await freePort() };
  await microservice(t, Transport.TCP, options);
  const client = ClientProxyFactory.create({ transport: Transport.TCP, options });
  t.after(() => client.close());
  const send = () => firstValueFrom(client.send('message', 'hello'));
  assert.equal(await send(), 'hello');
  await assert.rejects(send(), ({ status, title }) => {
    assert.deepEqual([status, title], [429, 'Too Many Requests']);
    return true;
  });
});
