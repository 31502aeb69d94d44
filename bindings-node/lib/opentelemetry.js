'use strict';

/** @import { Attributes, HrTime, MeterProvider, Observable } from '@opentelemetry/api' */
/** @import { CollectionResult, DataPoint, Histogram, HistogramMetricData, MetricProducer } from '@opentelemetry/sdk-metrics' */
/** @import { Metrics, RateLimiter } from './index.js' */

const { ValueType, metrics: global } = require('@opentelemetry/api');
const { version } = require('../package.json');
const { INSTRUMENTS } = require('./instruments.js');
const { named } = require('./named.js');

const SCOPE = { name: 'sluicegate', version };
// Counts begin with 0 in each process.
const BEGAN = now();
// Of the SDK, which need not be installed where this package finds it.
const CUMULATIVE = 1;
const HISTOGRAM = 0;

/** @type {WeakSet<MeterProvider>} */
const observing = new WeakSet();

/**
 * Makes instruments of what limiters count: `sluicegate.decisions` and others, observed whenever metrics are collected. Answers a
 * function that ends it.
 *
 * Call it once for each meter provider, when that is registered, with a limiter, or with an object of several: their names are the
 * attribute `limiter`. Limiters that are added to the object later are observed too. Does no I/O.
 *
 * How long servers took to answer is not among them, since no instrument takes a histogram that is complete: `RoundTripProducer`
 * produces it.
 *
 * @param {RateLimiter | { readonly [name: string]: RateLimiter }} limiters
 * @param {MeterProvider} [meterProvider] Default: the global one.
 * @returns {() => void}
 */
function observe(limiters, meterProvider = global.getMeterProvider()) {
  if (observing.has(meterProvider)) {
    throw new Error('this meter provider has limiters already: name all of them in one object, to which more can be added');
  }
  const meter = meterProvider.getMeter(SCOPE.name, SCOPE.version);
  const made = Object.entries(INSTRUMENTS).map(([name, { kind, unit, description }]) =>
    meter[/** @type {'createObservableCounter'} */ (`createObservable${kind}`)](`sluicegate.${name}`, { unit, description }),
  );
  // A provider that does nothing has one instrument for all, and is that of every library.
  if (made[0] !== made[1]) observing.add(meterProvider);
  /** @type {import('@opentelemetry/api').BatchObservableCallback<Attributes>} */
  const callback = (result) => {
    for (const [labels, limiter] of named(limiters)) observeAll(result, made, labels, limiter.metrics());
  };
  meter.addBatchObservableCallback(callback, made);
  return () => {
    meter.removeBatchObservableCallback(callback, made);
    observing.delete(meterProvider);
  };
}

function observeAll(result, /** @type {Observable[]} */ made, labels, metrics) {
  for (const [at, { observed }] of Object.values(INSTRUMENTS).entries()) {
    for (const [value, attributes] of observed(metrics)) result.observe(made[at], value, { ...labels, ...attributes });
  }
}

/**
 * Produces `sluicegate.round_trip.duration` for a reader of metrics: `new PeriodicExportingMetricReader({ exporter,
 * metricProducers: [new RoundTripProducer(limiters)] })`. The histogram is the limiter's own, with its buckets, and cumulative. It
 * has no minimum and no maximum, which limiters do not keep.
 *
 * @implements {MetricProducer}
 */
class RoundTripProducer {
  #limiters;

  /** @param {RateLimiter | { readonly [name: string]: RateLimiter }} limiters A limiter, or several, as for `observe`. */
  constructor(limiters) {
    this.#limiters = limiters;
  }

  /**
   * What a reader asks for.
   *
   * @returns {Promise<CollectionResult>}
   */
  async collect() {
    /** @type {HistogramMetricData} */
    const roundTrips = {
      descriptor: {
        name: 'sluicegate.round_trip.duration',
        description: 'How long servers took to answer.',
        unit: 's',
        valueType: ValueType.DOUBLE,
      },
      aggregationTemporality: CUMULATIVE,
      dataPointType: HISTOGRAM,
      dataPoints: named(this.#limiters).map(([labels, limiter]) => pointOf(limiter.metrics().roundTrips, labels)),
    };
    const scopeMetrics = [{ scope: SCOPE, metrics: [roundTrips] }];
    // The reader takes the resource of the SDK.
    const resource = /** @type {any} */ ({ attributes: {} });
    return { resourceMetrics: { resource, scopeMetrics }, errors: [] };
  }
}

/** @returns {DataPoint<Histogram>} */
function pointOf(/** @type {Metrics['roundTrips']} */ { count, sumMs, buckets }, attributes) {
  const upTo = [...buckets.map((bucket) => bucket.count), count];
  const counts = upTo.map((up, at) => up - (upTo[at - 1] ?? 0));
  const boundaries = buckets.map(({ atMostMs }) => atMostMs / 1000);
  return { attributes, startTime: BEGAN, endTime: now(), value: { buckets: { boundaries, counts }, sum: sumMs / 1000, count } };
}

/** @returns {HrTime} */
function now() {
  const ms = Date.now();
  return [Math.floor(ms / 1000), (ms % 1000) * 1_000_000];
}

module.exports = { RoundTripProducer, observe };
