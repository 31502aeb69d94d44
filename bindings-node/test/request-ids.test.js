'use strict';

// Calls that are repeated by their ids, as programs in JavaScript see it; what is decided, the vectors show.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { connect, createServer } = require('node:net');
const { after, before, test } = require('node:test');
const { ManualClock, RateLimiter } = require('sluicegate');
const { start } = require('./servers.js');

const rules = [{ rule_id: 'many', algorithm: 'fixed_window', limit: 1000, window_size_seconds: 36000 }];

let servers;
before(async () => (servers = await start('redis')));
after(() => servers.stop());

/** A proxy before a server. On request it passes so many more bytes of an answer on and closes the connection. */
class Cutter {
  left = Infinity;

  constructor(server) {
    const { hostname, port } = new URL(server);
    this.listener = createServer((client) => {
      const upstream = connect(Number(port), hostname);
      const end = () => [client, upstream].forEach((socket) => socket.destroy());
      for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
      client.on('data', (data) => upstream.write(data));
      upstream.on('data', (data) => {
        if (this.left >= data.length) {
          this.left -= data.length;
          client.write(data);
          return;
        }
        const passed = data.subarray(0, this.left);
        // The next connection is whole again.
        this.left = Infinity;
        client.write(passed, () => client.end(end));
      });
    });
  }

  async open() {
    await once(this.listener.listen(0, '127.0.0.1'), 'listening');
    return `redis://127.0.0.1:${this.listener.address().port}`;
  }
}

test('a lost answer is healed', async () => {
  const cutter = new Cutter(servers.redis);
  const limiter = await RateLimiter.connect(await cutter.open(), { rules, prefix: 'lost', breakerFailures: 0 });
  const calls = [
    [-3, (requestId) => limiter.check('many', 'k', { cost: 3, requestId })],
    [-1, (requestId) => limiter.checkAll([{ rule: 'many', key: 'k' }], { requestId })],
    [-2, (requestId) => limiter.charge('many', 'k', { cost: 2, requestId })],
    [+4, (requestId) => limiter.refund('many', 'k', { cost: 4, requestId })],
  ];
  let left = 1000;
  let cuts = 0;
  for (let number = 0; number < 60; number++) {
    for (const [step, [change, call]] of calls.entries()) {
      cutter.left = number % 45;
      left += change;
      const { remaining } = await call(`call ${number} ${step}`);
      assert.equal(remaining, left);
      cuts += cutter.left === Infinity ? 1 : 0;
    }
  }
  assert.ok(cuts > 100, `only ${cuts} answers were cut`);
  await limiter.close();
  cutter.listener.close();
  const other = await RateLimiter.connect(servers.redis, { rules, prefix: 'lost' });
  assert.equal((await other.peek('many', 'k')).remaining, left);
  await other.close();
});

test('an id is for one call and a while', async () => {
  for (const url of ['memory://', servers.redis]) {
    const clock = new ManualClock();
    const limiter = await RateLimiter.connect(url, { rules, prefix: 'while', clock, requestIdSeconds: 5 });
    const named = { requestId: 'ä' };
    for (const expected of [999, 999]) assert.equal((await limiter.check('many', 'k', named)).remaining, expected);
    await assert.rejects(limiter.check('many', 'k', { cost: 2, ...named }), {
      code: 'InvalidArgument',
      message: /^rule "many": request_id: another call had it/,
    });
    clock.advance(5000);
    assert.equal((await limiter.check('many', 'k', named)).remaining, 998);
    await limiter.close();
  }
});

test('calls that take no id', async () => {
  const limiter = await RateLimiter.connect('memory://', { rules });
  const named = { requestId: 'a' };
  for (const name of ['peek', 'reserve', 'reset']) {
    await assert.rejects(limiter[name]('many', 'k', named), { name: 'WrongTypeError', message: /requestId is not known/ });
  }
  await assert.rejects(limiter.checkAll([{ rule: 'many', key: 'k', ...named }]), /requestId is not known/);
  await limiter.close();
});
