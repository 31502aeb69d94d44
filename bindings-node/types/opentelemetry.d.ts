/**
 * Produces `sluicegate.round_trip.duration` for a reader of metrics: `new PeriodicExportingMetricReader({ exporter,
 * metricProducers: [new RoundTripProducer(limiters)] })`. The histogram is the limiter's own, with its buckets, and cumulative. It
 * has no minimum and no maximum, which limiters do not keep.
 *
 * @implements {MetricProducer}
 */
export class RoundTripProducer implements MetricProducer {
    /** @param {RateLimiter | { readonly [name: string]: RateLimiter }} limiters A limiter, or several, as for `observe`. */
    constructor(limiters: RateLimiter | {
        readonly [name: string]: RateLimiter;
    });
    /**
     * What a reader asks for.
     *
     * @returns {Promise<CollectionResult>}
     */
    collect(): Promise<CollectionResult>;
    #private;
}
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
export function observe(limiters: RateLimiter | {
    readonly [name: string]: RateLimiter;
}, meterProvider?: MeterProvider): () => void;
import type { MetricProducer } from '@opentelemetry/sdk-metrics';
import type { CollectionResult } from '@opentelemetry/sdk-metrics';
import type { RateLimiter } from './index.js';
import type { MeterProvider } from '@opentelemetry/api';
