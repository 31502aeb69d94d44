// What a limiter counts, as the SDK of OpenTelemetry collects it.

'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const { AggregationTemporality, DataPointType, MeterProvider, MetricReader } = require('@opentelemetry/sdk-metrics');
const { RateLimiter } = require('sluicegate');
const { RoundTripProducer, observe } = require('sluicegate/opentelemetry');

const { redisFor } = require('./servers.js');

const backend = redisFor('opentelemetry');
const rules = [{ rule_id: 'api', rate: '2/hour' }];

/** Collects when it is asked. */
class Reader extends MetricReader {
  async onForceFlush() {}
  async onShutdown() {}

  async metrics() {
    const { resourceMetrics, errors } = await this.collect();
    assert.deepEqual(errors, []);
    const { scopeMetrics } = resourceMetrics;
    assert.deepEqual(new Set(scopeMetrics.map(({ scope }) => scope.name)), new Set(['sluicegate']));
    return Object.fromEntries(scopeMetrics.flatMap(({ metrics }) => metrics).map((metric) => [metric.descriptor.name, metric]));
  }
}

const limiterOf = (url = 'memory://', options = {}) => RateLimiter.connect(url, { rules, ...options });
const points = ({ dataPoints }) => dataPoints.map(({ attributes, value }) => [...Object.values(attributes), value]);

function provided(t, metricProducers = []) {
  const reader = new Reader({ metricProducers });
  const provider = new MeterProvider({ readers: [reader] });
  t.after(() => provider.shutdown());
  return { reader, provider };
}

test('decisions are a counter', async (t) => {
  const { reader, provider } = provided(t);
  const limiter = await limiterOf();
  const end = observe(limiter, provider);
  for (let call = 0; call < 3; call++) await limiter.check('api', 'a key');
  const found = await reader.metrics();
  const decisions = found['sluicegate.decisions'];
  assert.deepEqual([decisions.descriptor.unit, decisions.dataPointType, decisions.isMonotonic], ['{request}', DataPointType.SUM, true]);
  assert.deepEqual(Object.keys(decisions.dataPoints[0].attributes), ['rule', 'result', 'source']);
  assert.deepEqual(points(decisions), [['api', 'admitted', 'memory', 2], ['api', 'denied', 'memory', 1]]);
  assert.deepEqual(points(found['sluicegate.cost']), [['api', 2]]);
  assert.deepEqual(points(found['sluicegate.waiting']), [['api', 0]]);
  assert.deepEqual(points(found['sluicegate.fallback.admitted']), [['api', 0]]);
  assert.ok(points(found['sluicegate.errors']).some(([kind, count]) => kind === 'Timeout' && count === 0));
  assert.deepEqual(points(found['sluicegate.rules.version']), [[limiter.rulesStatus().version, 1]]);
  assert.ok(!JSON.stringify(found).includes('a key'));
  // It is the whole count each time, and not added to that of before.
  await limiter.check('api', 'a key');
  assert.deepEqual(points((await reader.metrics())['sluicegate.decisions'])[1], ['api', 'denied', 'memory', 2]);
  assert.throws(() => observe(limiter, provider), /one object/);
  end();
  observe(limiter, provider)();
  await limiter.close();
});

test('a server that is away', async (t) => {
  const { reader, provider } = provided(t);
  const limiter = await limiterOf('redis://127.0.0.1:1', { fallback: 'allow' });
  observe(limiter, provider);
  for (let call = 0; call < 6; call++) await limiter.check('api', 'k');
  const found = await reader.metrics();
  assert.deepEqual(points(found['sluicegate.breaker.open']), [['127.0.0.1:1', 1]]);
  assert.deepEqual(points(found['sluicegate.breaker.openings']), [['127.0.0.1:1', 1]]);
  assert.deepEqual(points(found['sluicegate.fallback.admitted']), [['api', 6]]);
  await limiter.close();
});

test('several limiters are told apart, also those that are added later', async (t) => {
  const { reader, provider } = provided(t);
  const limiters = { web: await limiterOf() };
  observe(limiters, provider);
  limiters.jobs = await limiterOf();
  await limiters.jobs.check('api', 'k', { cost: 2 });
  assert.deepEqual(points((await reader.metrics())['sluicegate.cost']), [['web', 'api', 0], ['jobs', 'api', 2]]);
  for (const limiter of Object.values(limiters)) await limiter.close();
});

test('without an SDK nothing is observed, and nothing is wrong', async () => {
  const limiter = await limiterOf();
  observe(limiter);
  observe(limiter)();
  await limiter.close();
});

test('round trips are produced as the histogram that they are', async (t) => {
  const { url, prefix } = backend();
  const limiter = await limiterOf(url, { prefix });
  const { reader } = provided(t, [new RoundTripProducer(limiter)]);
  for (let call = 0; call < 5; call++) await limiter.check('api', 'k');
  const histogram = (await reader.metrics())['sluicegate.round_trip.duration'];
  assert.deepEqual([histogram.descriptor.unit, histogram.dataPointType], ['s', DataPointType.HISTOGRAM]);
  assert.equal(histogram.aggregationTemporality, AggregationTemporality.CUMULATIVE);
  const { roundTrips } = limiter.metrics();
  const [{ value }] = histogram.dataPoints;
  assert.ok(value.count >= 5);
  assert.deepEqual([value.count, value.sum * 1000], [roundTrips.count, roundTrips.sumMs]);
  assert.equal(value.buckets.counts.reduce((sum, count) => sum + count), value.count);
  assert.deepEqual([value.buckets.boundaries.length, value.buckets.counts.length], [14, 15]);
  assert.deepEqual([value.buckets.boundaries[0], value.buckets.boundaries[13]], [0.00005, 1]);
  await limiter.close();
});
