'use strict';

// Outgoing calls that are paced, to a provider on a real server.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { createServer } = require('node:http');
const { test } = require('node:test');
const { ManualClock, RateLimiter } = require('sluicegate');
const { RateLimited, limitedFetch } = require('sluicegate/fetch');
const { start } = require('./servers.js');

/** A provider that answers with what is next, or 200; it notes when it was asked, by a clock. */
async function provider(t, clock, answers = []) {
  const asked = [];
  const server = createServer((request, response) => {
    asked.push(clock?.nowUs / 1000);
    const { status = 200, headers = {} } = answers.shift() ?? {};
    response.writeHead(status, headers).end('answer');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${server.address().port}/`, asked };
}

async function connect(t, rules = []) {
  const clock = new ManualClock(1_000_000_000);
  const limiter = await RateLimiter.connect('memory://', { rules, clock });
  t.after(() => limiter.close());
  return { clock, limiter };
}

test('calls wait for room', async (t) => {
  const { clock, limiter } = await connect(t);
  const { url, asked } = await provider(t, clock);
  const paced = limitedFetch(limiter, '2/minute');
  const begin = clock.nowUs / 1000;
  for (let at = 0; at < 4; at++) assert.equal(await (await paced(url)).text(), 'answer');
  assert.deepEqual(asked.map((at) => at - begin), [0, 0, 30_000, 60_000]);
});

test('Retry-After stops all calls, in seconds or as a date', async (t) => {
  const { clock, limiter } = await connect(t);
  t.mock.timers.enable({ apis: ['Date'], now: clock.nowUs / 1000 });
  const date = new Date(Math.ceil(clock.nowUs / 1e6) * 1000 + 100_000).toUTCString();
  const { url, asked } = await provider(t, clock, [
    { status: 429, headers: { 'retry-after': '50' } }, {}, { status: 503, headers: { 'retry-after': date } }, {}, { status: 500, headers: { 'retry-after': '9' } },
  ]);
  const paced = limitedFetch(limiter, '100/second', { waitMs: Infinity });
  const other = limitedFetch(limiter, '100/second', { waitMs: Infinity });
  assert.equal((await paced(url)).status, 429);
  for (let at = 0; at < 5; at++) await other(url);
  const [first, second, third, fourth, fifth, sixth] = asked;
  assert.deepEqual([second - first, third - second, fifth - fourth, sixth - fifth], [50_000, 0, 0, 0]);
  assert.ok(fourth - third >= 99_000, `${fourth - third}`);
});

test('a call for which there is no room in time is not sent', async (t) => {
  const { clock, limiter } = await connect(t);
  const { url, asked } = await provider(t, clock);
  const paced = limitedFetch(limiter, '1/minute', { waitMs: 1000 });
  await paced(url);
  await assert.rejects(paced(url), (error) => error instanceof RateLimited && error.decision.retryAfterMs > 0 && /60 s/.test(error.message));
  assert.equal(asked.length, 1);
});

test('keys, costs and rules of the file', async (t) => {
  const { clock, limiter } = await connect(t, [{ rule_id: 'provider', rate: '10/minute', block: {} }, { rule_id: 'plain', rate: '1/minute' }]);
  const { url } = await provider(t, clock);
  const paced = limitedFetch(limiter, ['provider', '100/hour'], {
    key: ({ headers }) => headers.get('x-account'),
    cost: async (request) => (await request.clone().json()).items,
    waitMs: 0,
  });
  const send = (account, items) => paced(url, { method: 'POST', headers: { 'x-account': account }, body: JSON.stringify({ items }) });
  await send('a', 9);
  await send('b', 10);
  await assert.rejects(send('a', 2), RateLimited);
  await assert.rejects(send('', 2), /outgoing call: key returned ""/);
  assert.equal((await limiter.peek('provider', 'a')).remaining, 1);
  assert.throws(() => limitedFetch(limiter, 'plain'), { code: 'InvalidArgument', message: /needs a rule with `block`/ });
  assert.throws(() => limitedFetch(limiter, 'plam'), { code: 'UnknownRule' });
  assert.throws(() => limitedFetch(limiter, '5/minut'), { code: 'InvalidRule' });
  assert.throws(() => limitedFetch({}, '5/minute'), { message: 'limiter: must be a RateLimiter, not object' });
  assert.throws(() => limitedFetch(limiter, '5/minute', { waitMs: -1 }), { code: 'InvalidArgument' });
});

test('a signal gives up the wait', async (t) => {
  const servers = await start('redis');
  const limiter = await RateLimiter.connect(servers.redis, { rules: [] });
  t.after(async () => {
    await limiter.close();
    await servers.stop();
  });
  const { url, asked } = await provider(t);
  const paced = limitedFetch(limiter, '1/hour', { waitMs: Infinity });
  await paced(url);
  await assert.rejects(paced(url, { signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' });
  assert.equal(asked.length, 1);
});
