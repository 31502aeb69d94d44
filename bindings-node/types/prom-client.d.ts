/**
 * Adds what limiters count to a registry of prom-client. Answers a function that removes it.
 *
 * A registry takes it once. Give it an object of all limiters: their names are the label `limiter`. Limiters that are added to the
 * object later are collected too. Does no I/O.
 *
 * @param {RateLimiter | { readonly [name: string]: RateLimiter }} limiters
 * @param {Registry | Registry<OpenMetricsContentType>} [register] Default: the global one.
 * @returns {() => void}
 */
export function registerMetrics(limiters: RateLimiter | {
    readonly [name: string]: RateLimiter;
}, register?: client.Registry | client.Registry<client.OpenMetricsContentType>): () => void;
import type { RateLimiter } from './index.js';
import client = require("prom-client");
