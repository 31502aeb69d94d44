'use strict';

// Rules that change while a limiter runs, from a file and from ZooKeeper.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const { mkdtempSync, renameSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { after, before, test } = require('node:test');
const { setTimeout: sleep } = require('node:timers/promises');
const { RateLimiter } = require('sluicegate');
const { start } = require('./servers.js');

const FOLDER = '/config/ratelimit/rules';
const rule = (name, limit) => ({
  rule_id: name,
  algorithm: 'fixed_window',
  window_start: 'first_request',
  limit,
  window_size_seconds: 3600,
  identifier_type: 'global',
  match: {},
});

let servers;
let place;
before(async () => {
  servers = await start('redis', 'zookeeper');
  place = mkdtempSync(join(tmpdir(), 'sluicegate-'));
});
after(async () => {
  rmSync(place, { recursive: true });
  await servers.stop();
});

/** Writes a file of rules as tools do: the old one is whole until the new one is. */
function write(path, rules) {
  writeFileSync(`${path}.new`, typeof rules === 'string' ? rules : JSON.stringify(rules));
  renameSync(`${path}.new`, path);
}

async function until(holds) {
  const end = Date.now() + 30_000;
  while (!(await holds())) {
    assert.ok(Date.now() < end, 'it never came true');
    await sleep(10);
  }
}

for (const backend of ['memory', 'redis']) {
  const connect = (name, rules, options) =>
    RateLimiter.connect(backend === 'memory' ? 'memory://' : servers.redis, { rules, prefix: name, ...options });

  test(`a file is followed, and what was counted is kept (${backend})`, async () => {
    const path = join(place, `${backend}.json`);
    write(path, [rule('a', 5)]);
    const limiter = await connect('file', path);
    assert.equal((await limiter.check('a', 'k')).remaining, 4);
    await assert.rejects(limiter.check('b', 'k'), { code: 'UnknownRule' });

    write(path, [rule('b', 3), rule('a', 9)]);
    await until(() => limiter.rulesStatus().updates === 2);
    assert.equal((await limiter.check('a', 'k')).remaining, 7);
    assert.equal((await limiter.check('b', 'k')).remaining, 2);
    const decision = await limiter.checkRequest({ method: 'GET', path: '/' });
    assert.deepEqual(decision.parts.map((part) => part.rule), ['b', 'a']);

    write(path, [rule('b', 3)]);
    await until(() => limiter.rulesStatus().updates === 3);
    await assert.rejects(limiter.check('a', 'k'), { code: 'UnknownRule' });
    assert.equal((await limiter.check('b', 'k')).remaining, 1);
    await limiter.close();
  });
}

test('rules are added by the application', async () => {
  const limiter = await RateLimiter.connect('memory://', { rules: [rule('a', 5)] });
  limiter.addRules([rule('b', 3)]);
  limiter.addRules(JSON.stringify([rule('c', 2)]));
  assert.equal((await limiter.check('b', 'k')).remaining, 2);
  assert.equal((await limiter.check('c', 'k')).remaining, 1);
  const taken = { code: 'InvalidRule', message: 'add_rules: rule "a": the name is taken' };
  assert.throws(() => limiter.addRules([rule('d', 1), rule('a', 1)]), taken);
  assert.throws(() => limiter.addRules('rules.json'), { code: 'InvalidRule' });
  assert.throws(() => limiter.addRules(5), { name: 'WrongTypeError', message: 'rules: must be JSON text or an array of rules, not number' });
  assert.equal(limiter.rulesStatus().rules, 3);
  await limiter.close();
});

test('refused rules are reported, and the last good rules stay', async () => {
  const path = join(place, 'refused.json');
  write(path, [rule('a', 5)]);
  const limiter = await RateLimiter.connect('memory://', { rules: path });
  const { loadedAt, version, lastError, ...status } = limiter.rulesStatus();
  assert.ok(loadedAt instanceof Date && Math.abs(Date.now() - loadedAt) < 60_000);
  assert.equal(lastError, undefined);
  const expected = { source: path, rules: 1, updates: 1, refusals: 0, refused: [], reachable: true, cached: false };
  assert.deepEqual(status, expected);

  write(path, '[{"rule_id": "a", "algoritm": "gcra"}]');
  await until(() => limiter.rulesStatus().refusals === 1);
  const reason = 'rule "a": field "algoritm" is not known; did you mean "algorithm"?';
  const now = limiter.rulesStatus();
  assert.deepEqual([now.refused, now.version, now.updates], [[{ unit: path, reason }], version, 1]);
  assert.equal(now.lastError, `${path}: ${reason}`);
  assert.equal((await limiter.check('a', 'k')).limit, 5);
  await limiter.close();
});

test('a warning goes to standard error, unless it is not wanted', () => {
  const path = join(place, 'warned.json');
  const program = `
    const { RateLimiter } = require('sluicegate');
    const { writeFileSync } = require('node:fs');
    (async () => {
      const limiter = await RateLimiter.connect('memory://', { rules: ${JSON.stringify(path)} });
      writeFileSync(${JSON.stringify(path)}, '[{}]');
      while (limiter.rulesStatus().refusals === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    })();`;
  for (const [wish, expected] of [['', /^sluicegate: rules refused: .*warned\.json/], ['off', /^$/]]) {
    write(path, []);
    const env = { ...process.env, SLUICEGATE_LOG: wish };
    const { status, stderr } = spawnSync(process.execPath, ['-e', program], { cwd: __dirname, env, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.match(stderr, expected);
  }
});

test('without its source a limiter begins with the cache, if it was given one', async () => {
  const path = join(place, 'source.json');
  const rulesCache = join(place, 'cache.json');
  write(path, [rule('a', 5)]);
  const limiter = await RateLimiter.connect('memory://', { rules: path, rulesCache });
  await limiter.close();
  rmSync(path);
  await assert.rejects(RateLimiter.connect('memory://', { rules: path }), { code: 'InvalidRule', message: /cannot be read/ });
  const later = await RateLimiter.connect('memory://', { rules: path, rulesCache });
  assert.deepEqual([later.rulesStatus().cached, (await later.check('a', 'k')).limit], [true, 5]);
  await later.close();
});

test('options of sources are checked', async () => {
  const refused = (options, expected) => assert.rejects(RateLimiter.connect('memory://', options), expected);
  await refused({ rules: 'zookeeper://' }, { code: 'InvalidArgument' });
  await refused({ rules: [], rulesCache: 'cache.json' }, { code: 'InvalidArgument', message: /^rules_cache: / });
  await refused({ rules: [], rulesCache: 5 }, { name: 'WrongTypeError', message: 'rulesCache: must be a string, not number' });
});

test('rules in ZooKeeper are followed while checks go on', async () => {
  const put = (verb, name, limit) => servers.order(verb, `${FOLDER}/${name}`, JSON.stringify(rule(name, limit)));
  await put('create', 'counted', 1_000_000);
  await put('create', 'changing', 10);
  const rules = `zookeeper://${servers.zookeeper}${FOLDER}`;
  const limiter = await RateLimiter.connect(servers.redis, { rules, prefix: 'zookeeper' });
  const hammering = { over: false, admitted: 0 };
  const hammered = (async () => {
    for (; !hammering.over; hammering.admitted++) assert.ok((await limiter.check('counted', 'k')).allowed);
  })();

  await put('set', 'changing', 20);
  await until(async () => (await limiter.peek('changing', 'k')).limit === 20);
  await put('create', 'late', 7);
  await until(() => limiter.rulesStatus().rules === 3);
  assert.equal((await limiter.check('late', 'k')).remaining, 6);
  await servers.order('set', `${FOLDER}/changing`, 'garbage');
  await until(() => limiter.rulesStatus().refused.length === 1);
  assert.equal(limiter.rulesStatus().refused[0].unit, 'changing');
  assert.equal((await limiter.peek('changing', 'k')).limit, 20);
  await servers.order('delete', `${FOLDER}/late`);
  await until(() => limiter.check('late', 'k').then(() => false, (error) => error.code === 'UnknownRule'));

  hammering.over = true;
  await hammered;
  assert.equal(1_000_000 - (await limiter.peek('counted', 'k')).remaining, hammering.admitted);
  await limiter.close();
});
