// What a limiter counts, in a registry of prom-client.

'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const client = require('prom-client');
const { RateLimiter } = require('sluicegate');
const { registerMetrics } = require('sluicegate/prom-client');

const { redisFor } = require('./servers.js');

const backend = redisFor('prom-client');
const rules = [{ rule_id: 'a:b/c-d', rate: '2/hour' }, { rule_id: 'api', rate: '2/hour' }];

const lines = (text) => text.split('\n').filter((line) => line !== '').sort();

test('a registry serves what the limiter would, line by line', async () => {
  const { url, prefix } = backend();
  const limiter = await RateLimiter.connect(url, { rules, prefix });
  for (const rule of [rules[0].rule_id, 'api', 'api', 'api']) await limiter.check(rule, 'a key');
  const register = new client.Registry();
  registerMetrics(limiter, register);
  const text = await register.metrics();
  assert.deepEqual(lines(text), lines(limiter.prometheus()));
  assert.match(text, /^# TYPE sluicegate_round_trip_seconds histogram$/m);
  assert.match(text, /^sluicegate_decisions_total\{rule="api",result="denied",source="server"\} 1$/m);
  await limiter.check('api', 'a key');
  assert.match(await register.metrics(), /^sluicegate_decisions_total\{rule="api",result="denied",source="server"\} 2$/m);
  await limiter.close();
});

test('several limiters share a registry with the metrics of the application, until they are removed', async () => {
  const register = new client.Registry();
  new client.Counter({ name: 'own', help: 'Its own.', registers: [register] }).inc(3);
  const limiters = { web: await RateLimiter.connect('memory://', { rules }) };
  const remove = registerMetrics(limiters, register);
  assert.throws(() => registerMetrics(limiters, register), /one object/);
  limiters.jobs = await RateLimiter.connect('memory://', { rules });
  await limiters.jobs.check('api', 'k', { cost: 2 });
  const text = await register.metrics();
  assert.match(text, /^own 3$/m);
  assert.match(text, /^sluicegate_cost_total\{limiter="web",rule="api"\} 0$/m);
  assert.match(text, /^sluicegate_cost_total\{limiter="jobs",rule="api"\} 2$/m);
  // A family may be there once only.
  const types = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
  assert.equal(new Set(types).size, types.length);
  remove();
  assert.deepEqual(lines(await register.metrics()), lines('# HELP own Its own.\n# TYPE own counter\nown 3'));
  registerMetrics(limiters.web, register);
  for (const limiter of Object.values(limiters)) await limiter.close();
});

test('a registry for OpenMetrics names counters as that asks for', async () => {
  const limiter = await RateLimiter.connect('memory://', { rules });
  await limiter.check('api', 'k');
  const register = new client.Registry(client.Registry.OPENMETRICS_CONTENT_TYPE);
  registerMetrics(limiter, register);
  for (let scrape = 0; scrape < 2; scrape++) {
    const text = await register.metrics();
    assert.match(text, /^# TYPE sluicegate_decisions counter$/m);
    assert.match(text, /^sluicegate_decisions_total\{rule="api",result="admitted",source="memory"\} 1$/m);
    assert.match(text, /# EOF\n$/);
  }
  await limiter.close();
});

test('workers of a cluster are aggregated', async () => {
  const limiter = await RateLimiter.connect('memory://', { rules });
  await limiter.check('api', 'k');
  const register = new client.Registry();
  registerMetrics(limiter, register);
  const worker = await register.getMetricsAsJSON();
  const both = await client.AggregatorRegistry.aggregate([worker, worker]).metrics();
  assert.match(both, /^sluicegate_cost_total\{rule="api"\} 2$/m);
  assert.match(both, /^sluicegate_rules_version\{version="\w+"\} 1$/m);
  await limiter.close();
});

test('nothing cannot be registered', () => {
  assert.throws(() => registerMetrics({}, new client.Registry()), /at least one/);
});
