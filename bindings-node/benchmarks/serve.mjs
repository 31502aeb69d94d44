// Starts a Redis, and runs the benchmarks on it.

import servers from '../test/servers.js';

const redis = await servers.start('redis');
process.env.SLUICEGATE_BENCH_REDIS = redis.redis;
await import('./run.mjs');
await redis.stop();
