'use strict';

// A server that is killed, restarted, or says nothing.

const assert = require('node:assert/strict');
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, rmSync } = require('node:fs');
const { createServer: serve } = require('node:http');
const { connect, createServer } = require('node:net');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { after, afterEach, before, beforeEach, test } = require('node:test');
const { setImmediate: turn, setTimeout: sleep } = require('node:timers/promises');
const { Worker } = require('node:worker_threads');
const { rateLimit } = require('../lib/express.js');
const { RateLimiter } = require('../lib/index.js');

const RULES = [{ rule_id: 'ten', algorithm: 'fixed_window', limit: 10, window_size_seconds: 3600 }];
const RESPONSE_TIMEOUT = 300;

let folder;
let port;
let server;
let limiter;

const url = () => `redis://127.0.0.1:${port}`;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluicegate-'));
  const free = createServer().listen(0, '127.0.0.1');
  await once(free, 'listening');
  port = free.address().port;
  free.close();
  await once(free, 'close');
  await start();
});

after(async () => {
  await kill();
  rmSync(folder, { recursive: true });
});

beforeEach(async () => {
  limiter = await RateLimiter.connect(url(), { rules: RULES, responseTimeoutMs: RESPONSE_TIMEOUT });
  await limiter.check('ten', 'first');
  // By then the loop serves a socket of its own.
  await sleep(50);
});

afterEach(() => limiter.close());

async function start() {
  const words = ['--port', port, '--bind', '127.0.0.1', '--save', '', '--dir', folder];
  server = spawn('redis-server', words, { stdio: 'ignore' });
  for (let time = 0; !(await command('PING').catch(() => '')).startsWith('+PONG'); time++) {
    assert.ok(time < 500, 'the server does not start');
    await sleep(10);
  }
}

async function kill() {
  server.kill('SIGKILL');
  await once(server, 'exit');
}

async function command(line) {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    socket.write(`${line}\r\n`);
    return String((await once(socket, 'data'))[0]);
  } finally {
    socket.destroy();
  }
}

const many = (key, count) =>
  Promise.allSettled(Array.from({ length: count }, (_, number) => limiter.check('ten', `${key} ${number}`)));

const codes = (outcomes) => [...new Set(outcomes.map(({ reason }) => reason?.code))];

async function recover() {
  const end = Date.now() + 10_000;
  while (Date.now() < end && codes(await many(`recovering ${Date.now()}`, 1))[0]) await sleep(10);
  for (let time = 0; time < 3; time++) {
    const key = `recovered ${performance.now()}`;
    assert.deepEqual(codes(await many(key, 100)), [undefined]);
    await sleep(150);
  }
}

test('a killed server ends calls, and later ones succeed', async () => {
  for (let time = 0; time < 3; time++) {
    server.kill('SIGSTOP');
    const calls = many(`under way ${time}`, 200);
    await sleep(10);
    await kill();
    const outcomes = await calls;
    assert.deepEqual(codes(outcomes), ['Connection']);
    assert.ok(outcomes.every(({ reason }) => reason.retryable));
    assert.deepEqual(codes(await many('nobody', 1)), ['Connection']);
    await start();
    await recover();
  }
});

test('a silent server is a timeout in time', async () => {
  for (const count of [1, 200]) {
    server.kill('SIGSTOP');
    const began = performance.now();
    const outcomes = await many(`silent ${count}`, count);
    const took = performance.now() - began;
    server.kill('SIGCONT');
    assert.deepEqual(codes(outcomes), ['Timeout']);
    assert.ok(took > RESPONSE_TIMEOUT - 20 && took < 3 * RESPONSE_TIMEOUT, `${took} ms`);
    await recover();
  }
});

test('a call ends by its own time', async () => {
  const short = { timeoutMs: 50 };
  const web = { rule_id: 'web', rate: '5/minute', identifier_type: 'ip_address', match: { path_pattern: '/*' } };
  const hasty = await RateLimiter.connect(url(), { rules: [...RULES, web] });
  const request = { method: 'GET', path: '/', ip: '203.0.113.9', ...short };
  assert.equal((await hasty.checkRequest(request)).rule, 'web');
  await hasty.ping(short);
  server.kill('SIGSTOP');
  try {
    for (const call of [
      () => hasty.check('ten', 'hasty', short),
      () => hasty.charge('ten', 'hasty', short),
      () => hasty.checkAll([{ rule: 'ten', key: 'a' }, { rule: 'ten', key: 'b', ...short }]),
      () => hasty.checkRequest(request),
      () => hasty.reset('ten', 'hasty', short),
      () => hasty.ping(short),
    ]) {
      const began = performance.now();
      await assert.rejects(call(), { code: 'Timeout' });
      // The limiter's own response timeout is 500 ms.
      assert.ok(performance.now() - began < 400, `${call}: ${performance.now() - began} ms`);
    }
  } finally {
    server.kill('SIGCONT');
    await hasty.close();
  }
  await recover();
});

test('a forgotten script is sent anew', async () => {
  for (let time = 0; time < 3; time++) {
    assert.match(await command('SCRIPT FLUSH'), /OK/);
    const calls = Array.from({ length: 100 }, () => limiter.check('ten', `forgotten ${time}`));
    const admitted = (await Promise.all(calls)).filter(({ allowed }) => allowed);
    assert.equal(admitted.length, 10);
  }
});

test('ten thousand calls at once are each decided once', async () => {
  const calls = Array.from({ length: 10_000 }, (_, number) => limiter.check('ten', `at once ${number % 500}`));
  const outcomes = await Promise.allSettled(calls);
  // On a busy machine some may be late.
  const late = outcomes.filter(({ reason }) => reason?.code === 'Timeout').length;
  const admitted = outcomes.filter(({ value }) => value?.allowed).length;
  assert.ok(5000 - late <= admitted && admitted <= 5000, `${admitted} admitted, ${late} late`);
});

const MANY = 2000;

test('a loop that was held up reads the answers that have arrived', async (t) => {
  const patient = await RateLimiter.connect(url(), { rules: RULES, responseTimeoutMs: 1000 });
  t.after(() => patient.close());
  await patient.check('ten', 'first');
  await sleep(50);
  const calls = await allSent(patient);
  const end = performance.now() + 1200;
  while (performance.now() < end);
  const outcomes = await Promise.allSettled(calls);
  assert.deepEqual(codes(outcomes), [undefined]);
  assert.deepEqual(Object.values(patient.metrics().servers), [{ breakerOpen: false, breakerOpenings: 0 }]);
});

/** Calls that the server has got, and whose answers nobody has read. How much fits into a socket is up to the system. */
async function allSent(limiter) {
  for (let time = 0; time < 50; time++) {
    await command('FLUSHALL');
    const calls = Array.from({ length: MANY }, (_, number) => limiter.check('ten', `${time} ${number}`));
    // By the second turn they are sent, and the loop runs no more.
    await turn();
    await turn();
    if (haveArrived(500)) return calls;
    await Promise.allSettled(calls);
  }
  throw new Error('calls do not fit into a socket');
}

/** Whether the server has them all within so many milliseconds. Another process asks, while the loop waits. */
function haveArrived(ms) {
  const program = `
    const end = Date.now() + ${ms};
    (function ask() {
      const socket = require('node:net').connect(${port}, '127.0.0.1', () => socket.write('DBSIZE\\r\\n'));
      socket.once('data', (answer) => {
        socket.destroy();
        const isThere = Number(String(answer).slice(1)) === ${MANY};
        if (isThere || Date.now() > end) process.exitCode = isThere ? 0 : 1;
        else setTimeout(ask, 10);
      });
    })();`;
  return spawnSync(process.execPath, ['-e', program]).status === 0;
}

test('a lazy limiter opens nothing before its first call', async () => {
  const [before, after] = await attempts({ lazy: true });
  assert.deepEqual([before, after > 0], [0, true]);
  assert.notEqual((await attempts({ lazy: false }))[0], 0);
});

/** How many connections have been opened when the limiter is made, and after its first call. */
async function attempts(options) {
  const sockets = [];
  const listener = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port: free } = listener.address();
  const common = { rules: RULES, responseTimeoutMs: 50, fallback: 'deny' };
  const own = await RateLimiter.connect(`redis://127.0.0.1:${free}`, { ...common, ...options });
  // Time for what should not happen.
  await sleep(200);
  const before = sockets.length;
  assert.equal((await own.check('ten', 'k')).source, 'fallback');
  while (sockets.length === 0) await sleep(5);
  const after = sockets.length;
  await own.close();
  for (const socket of sockets) socket.destroy();
  listener.close();
  return [before, after];
}

test('calls under way when a limiter is closed are answered', async () => {
  const calls = many('closed', 50);
  await sleep(0);
  await limiter.close();
  assert.ok((await calls).every(({ value, reason }) => value?.allowed || reason.code === 'Closed'));
  assert.deepEqual(codes(await many('closed', 5)), ['Closed']);
});

test('limiters come and go', async () => {
  for (let time = 0; time < 200; time++) {
    const other = await RateLimiter.connect(url(), { rules: RULES });
    if (time % 2) await sleep(2);
    await Promise.all([other.check('ten', `come ${time}`), other.check('ten', `come ${time}`)]);
    if (time % 3) await other.close();
  }
});

test('threads end at any time, whatever their sockets do', async () => {
  const program = `
    const { RateLimiter } = require(${JSON.stringify(join(__dirname, '../lib/index.js'))});
    RateLimiter.connect('${url()}', { rules: ${JSON.stringify(RULES)} }).then(async (limiter) => {
      for (let time = 0; ; time++) {
        await Promise.allSettled(Array.from({ length: 1 + time % 20 }, () => limiter.check('ten', 'thread')));
        if (time === 50) require('node:worker_threads').parentPort.postMessage('busy');
      }
    });`;
  for (let time = 0; time < 5; time++) {
    const workers = Array.from({ length: 4 }, () => new Worker(program, { eval: true }));
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    if (time === 4) server.kill('SIGSTOP');
    await sleep(time);
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
  server.kill('SIGCONT');
  await recover();
});

test('a renewal for a request that fails is tried again in time', async (t) => {
  const rules = [{ rule_id: 'jobs', algorithm: 'concurrency', limit: 1, lease_seconds: 6, identifier_type: 'global', match: {} }];
  const own = await RateLimiter.connect(url(), { rules, responseTimeoutMs: RESPONSE_TIMEOUT });
  t.after(() => own.close());
  const failures = [];
  const limit = rateLimit(own, { log: (error) => failures.push(error.code) });
  let finish;
  const until = new Promise((done) => (finish = done));
  const web = serve((request, response) => limit(request, response, () => until.then(() => response.end('done'))));
  web.listen(0, '127.0.0.1');
  await once(web, 'listening');
  t.after(() => web.close());

  const answer = fetch(`http://127.0.0.1:${web.address().port}/`);
  await sleep(2500);
  // Renewals fail at half of the lease, after 3 s. Another half would be too late.
  await command('CONFIG SET maxmemory 1');
  await sleep(1100);
  await command('CONFIG SET maxmemory 0');
  await sleep(3400);
  const { remaining } = await own.peek('jobs', 'global');
  finish();
  assert.equal((await answer).status, 200);
  assert.equal(remaining, 0);
  assert.deepEqual([...new Set(failures)], ['Server']);
});
