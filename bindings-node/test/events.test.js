// What limiters tell of themselves.

'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { createServer } = require('node:net');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const test = require('node:test');
const { spawnSync } = require('node:child_process');
const { RateLimiter, events } = require('sluicegate');

const rules = [{ rule_id: 'api', rate: '5/minute' }];

/** The next event of that name. Neither who listens nor a limiter that waits for rules keeps the process alive. */
function next(name) {
  const alive = setInterval(() => {}, 1000);
  return new Promise((resolve) => {
    const listener = (event) => {
      if (event.name !== name) return;
      clearInterval(alive);
      events.off('event', listener);
      resolve(event);
    };
    events.on('event', listener);
  });
}

test('listeners learn that a circuit breaker has opened', async (t) => {
  const sockets = new Set();
  const silent = createServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  await once(silent, 'listening');
  const url = `redis://127.0.0.1:${silent.address().port}`;
  const limiter = await RateLimiter.connect(url, { rules, lazy: true, responseTimeoutMs: 50 });
  const opened = next('breaker_open');
  for (let call = 0; call < 6; call++) await assert.rejects(limiter.check('api', 'k'));
  const { warning, message } = await opened;
  assert.ok(warning);
  assert.match(message, /^127\.0\.0\.1:\d+ does not answer \(.+\): calls to it end at once until it does$/);
  limiter.close();
});

test('denials in shadow are told, and are no warnings', async () => {
  const limiter = await RateLimiter.connect('memory://', { rules: [{ ...rules[0], rate: '1/hour', shadow: true }] });
  const told = next('shadow_denied');
  for (let call = 0; call < 5; call++) assert.ok((await limiter.check('api', 'k')).allowed);
  const { warning, message } = await told;
  assert.deepEqual([warning, message], [false, 'rule "api" is in shadow: it would have denied 1 call']);
  limiter.close();
});

test('all listeners learn that rules have changed', async (t) => {
  const place = mkdtempSync(join(tmpdir(), 'sluicegate-'));
  t.after(() => rmSync(place, { recursive: true }));
  const path = join(place, 'rules.json');
  writeFileSync(path, JSON.stringify(rules));
  const limiter = await RateLimiter.connect('memory://', { rules: path });
  const both = Promise.all([next('rules_changed'), next('rules_changed')]);
  writeFileSync(path, JSON.stringify([{ rule_id: 'api', rate: '7/minute' }]));
  assert.deepEqual((await both).map(({ warning }) => warning), [false, false]);
  limiter.close();
});

test('a file that is rewritten again and again is logged once', async (t) => {
  const place = mkdtempSync(join(tmpdir(), 'sluicegate-'));
  t.after(() => rmSync(place, { recursive: true }));
  const path = join(place, 'rules.json');
  writeFileSync(path, '[]');
  const limiter = await RateLimiter.connect('memory://', { rules: path });
  const told = [];
  const listener = ({ name, message }) => message.includes(path) && told.push(name);
  events.on('event', listener);
  for (let count = 2; count < 12; count++) {
    writeFileSync(path, JSON.stringify([{ rule_id: 'api', rate: `${count}/minute` }]));
    while (limiter.rulesStatus().updates < count) await new Promise(setImmediate);
  }
  // Another line in its turn, after which those before it have been told.
  const refused = next('rules_refused');
  writeFileSync(path, '[');
  await refused;
  assert.deepEqual(told, ['rules_changed', 'rules_refused']);
  events.off('event', listener);
  limiter.close();
});

test('a listener does not keep the process alive, and silences standard error', () => {
  const program = `
    const { RateLimiter, events } = require('sluicegate');
    events.on('event', ({ name }) => console.log(name));
    RateLimiter.connect('redis://127.0.0.1:1', { rules: [{ rule_id: 'a', rate: '1/s' }], fallback: 'allow' })
      .then((limiter) => limiter.check('a', 'k').then(() => limiter.close()))
      .then(() => new Promise((resolve) => setTimeout(resolve, 200)));
  `;
  const ended = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8', timeout: 30_000, cwd: __dirname });
  assert.deepEqual([ended.status, ended.stdout, ended.stderr], [0, 'fallback_began\n', '']);
});

test('a listener that throws loses no event but its own', () => {
  const program = `
    const { RateLimiter, events } = require('sluicegate');
    const alive = setInterval(() => {}, 1000);
    const told = new Set();
    process.on('uncaughtException', () => {});
    events.on('event', ({ message }) => {
      told.add(message);
      if (told.size === 3) clearInterval(alive);
      throw new Error('a listener');
    });
    const rules = ['a', 'b', 'c'].map((rule_id) => ({ rule_id, rate: '1/d', shadow: true }));
    RateLimiter.connect('memory://', { rules }).then((limiter) => {
      for (const { rule_id } of [...rules, ...rules]) limiter.check(rule_id, 'k');
    });
  `;
  assert.deepEqual(ended(program), [0, '', '']);
});

test('a listener that is added after all were removed gets events', () => {
  const program = `
    const { RateLimiter, events } = require('sluicegate');
    const alive = setInterval(() => {}, 1000);
    events.on('event', () => console.log('removed'));
    events.removeAllListeners();
    events.on('event', ({ name }) => { console.log(name); clearInterval(alive); });
    RateLimiter.connect('memory://', { rules: [{ rule_id: 'a', rate: '1/d', shadow: true }] }).then((limiter) => {
      for (let call = 0; call < 2; call++) limiter.check('a', 'k');
    });
  `;
  assert.deepEqual(ended(program), [0, 'shadow_denied\n', '']);
});

/** How a program ends, and what it has written. */
function ended(program) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8', timeout: 15_000, cwd: __dirname });
  return [status, stdout, stderr];
}
