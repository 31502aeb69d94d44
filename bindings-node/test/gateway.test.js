'use strict';

// The gateway for language models among the examples, in front of the toy model, installed as its users would have it.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { after, before, test } = require('node:test');
const { request } = require('node:http');
const { join } = require('node:path');
const { ManualClock, RateLimiter } = require('sluicegate');
const { ask } = require('./http.js');
const { project } = require('./project.js');
const { start } = require('./servers.js');

const place = project('language_models.mjs', 'language_models.jsonc', 'toy_model.mjs');
let servers;
before(async () => (servers = await start('redis')));
after(async () => {
  place.remove();
  await servers.stop();
});

/** The gateway and its model; `pause` is how the model spends a second. */
async function open(t, url, { pause, clock, prefix } = {}) {
  const { gateway, rules } = await import(join(place.folder, 'language_models.mjs'));
  const { toyModel } = await import(join(place.folder, 'toy_model.mjs'));
  const limiter = await RateLimiter.connect(url, { rules, clock, prefix });
  const model = toyModel(pause).listen(0, '127.0.0.1');
  await once(model, 'listening');
  const site = gateway(limiter, `http://127.0.0.1:${model.address().port}`).listen(0, '127.0.0.1');
  await once(site, 'listening');
  const chat = (query, tenant = 'acme') =>
    ask(site.address().port, `/chat?${query}`, { method: 'POST', headers: { authorization: `Bearer ${tenant}` } });
  const left = async (rule, tenant = 'acme') => (await limiter.peek(rule, tenant)).remaining;
  t.after(async () => {
    site.closeAllConnections();
    await until(async () => (await left('in_flight')) === 20); // what is under way ends before its limiter is closed
    for (const server of [site, model]) server.close();
    await limiter.close();
  });
  return { chat, left, model, port: site.address().port };
}

/** Begins a call, and returns it when its answer has begun (`undefined` where it was denied). */
async function begin(port, query) {
  const options = { host: '127.0.0.1', port, path: `/chat?${query}`, method: 'POST', agent: false };
  const call = request({ ...options, headers: { authorization: 'Bearer acme' } }).end();
  call.on('error', () => {}); // a client that hangs up has this of it
  const [answer] = await once(call, 'response');
  const ended = new Promise((resume) => answer.on('error', () => {}).once('close', resume).resume());
  return answer.statusCode === 200 ? { call, ended } : undefined;
}

async function until(holds) {
  const end = Date.now() + 30_000;
  while (!(await holds())) {
    assert.ok(Date.now() < end, 'it never came');
    await new Promise((resume) => setTimeout(resume, 10));
  }
}

test('an answer is charged what it used', async (t) => {
  const { chat, left } = await open(t, servers.redis, { pause: async () => {}, prefix: 'used' });
  const answer = await chat('max_tokens=4000&words=500');
  assert.deepEqual([answer.status, answer.body.trim().split(' ').length], [200, 500]);
  assert.ok((await left('requests')) >= 599);
  const tokens = await left('tokens');
  // Some of the tokens may have been refilled meanwhile.
  assert.ok(tokens >= 59_500 && tokens < 60_000, tokens);
  assert.equal(await left('in_flight'), 20);
  const never = await chat('max_tokens=60001');
  assert.deepEqual([never.status, never.headers['retry-after']], [400, undefined]);
  for (const wrong of ['max_tokens=0', 'max_tokens=x', 'words=-1']) assert.equal((await chat(wrong)).status, 400);
});

test('calls that hang up give back what they did not use', async (t) => {
  // The first line of each of 15 answers comes at once; nothing follows for as long as the test lasts.
  let lines = 0;
  const pause = () => new Promise((resume) => (++lines <= 15 ? resume() : undefined));
  const { chat, left, model, port } = await open(t, servers.redis, { pause, prefix: 'hung-up' });
  const calls = [];
  for (let count = 0; count < 15; count++) calls.push(begin(port, 'max_tokens=4000&words=4000'));
  const begun = await Promise.all(calls);
  assert.ok(begun.every((call) => call));
  const denied = await chat('max_tokens=4000');
  assert.equal(denied.status, 429);
  assert.ok(Number(denied.headers['retry-after']) >= 1);
  assert.equal(await left('in_flight'), 5);
  for (const { call } of begun) call.destroy();
  await until(async () => (await left('in_flight')) === 20);
  assert.ok((await left('tokens')) > 55_000);
  const connections = () => new Promise((resume) => model.getConnections((_, count) => resume(count)));
  await until(async () => (await connections()) === 0); // the gateway stopped the model
});

test('a model that does not answer costs nothing', async (t) => {
  const { chat, left, model } = await open(t, 'memory://');
  model.close();
  assert.equal((await chat('max_tokens=4000')).status, 502);
  assert.deepEqual([await left('tokens'), await left('in_flight')], [60_000, 20]);
});

test('long calls at saturation lose no capacity', async (t) => {
  // Calls of 20 s that reserve 4,000 of 60,000 tokens a minute and use 500: 13 to 15 are under way at all times.
  const clock = new ManualClock(1_760_000_000_000);
  let now = 0;
  const sleepers = [];
  const pause = (ms) => new Promise((resume) => sleepers.push({ end: now + ms, resume }));
  const { port } = await open(t, 'memory://', { pause, clock });
  const underWay = [];
  for (; now < 120_000; now += 100, clock.advance(100)) {
    while (sleepers[0]?.end <= now) sleepers.shift().resume();
    while (underWay[0]?.end <= now) await underWay.shift().ended;
    for (let call; (call = await begin(port, 'max_tokens=4000&words=500')); ) {
      underWay.push({ ...call, end: now + 20_000 });
    }
    assert.ok(underWay.length >= 13 && underWay.length <= 15, `${underWay.length} after ${now} ms`);
  }
});
