// What checks of one key cost that many ask for: sent as one, and decided by units that the process has borrowed:
//
//     benchmarks/run hot [rounds] [milliseconds of a slice]
//
// Slices in turn; figures are medians over the rounds, ratios those of the ratios within each round.

import { cpus } from 'node:os';
import { Redis } from 'ioredis';
import servers from '../test/servers.js';
import { RateLimiter } from '../lib/index.mjs';
import { inStrides, median, together } from './measure.mjs';

const [rounds, ms] = [Number(process.argv[3] ?? 7), Number(process.argv[4] ?? 500)];
const LIMIT = { limit: 100_000_000, window_size_seconds: 1, burst: 50_000_000 };
const rules = [
  { rule_id: 'exact', ...LIMIT },
  { rule_id: 'leased', ...LIMIT, lease: { max_age_ms: 20, pace_ms: 10 } },
];
const IN_FLIGHT = 64;
/** How many checks are under way at a time, on how many keys. Those of the second load travel together as well, each for itself. */
const LOADS = {
  'one key': [IN_FLIGHT, 1],
  'a key for each': [IN_FLIGHT, IN_FLIGHT],
  '10,000 keys': [IN_FLIGHT, 10_000],
  'one key, alone': [1, 1],
};
const REFERENCE = 'a key for each';
/** How many times the checks of the reference, and how many leased checks a second. */
const [TOGETHER, LEASED] = [1.2, 1_000_000];

const row = (...cells) => console.log(`| ${cells.join(' | ')} |`);
const head = (...columns) => {
  row(...columns);
  row(...columns.map(() => '---'));
};
const verdict = (met, target) => `${target.toLocaleString('en')} ${met ? 'met' : 'NOT MET'}`;
const whole = (value) => Math.round(value).toLocaleString('en');

/** Microseconds of processor time that the server took so far, and how many scripts it has run. */
async function soFar(redis) {
  const [cpu, commands] = [await redis.info('cpu'), await redis.info('commandstats')];
  const seconds = ['user', 'sys'].map((name) => Number(cpu.match(`used_cpu_${name}:([0-9.]+)`)[1]));
  const scripts = [...commands.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].map(([, calls]) => Number(calls));
  return { us: (seconds[0] + seconds[1]) * 1e6, scripts: scripts.reduce((sum, calls) => sum + calls, 0) };
}

async function slice(limiter, redis, [inFlight, count]) {
  const keys = Array.from({ length: count }, (_, number) => `user:${number}`);
  const before = await soFar(redis);
  const { done, perSecond, cpuUs } = await together((key) => limiter.check('exact', key), keys, inFlight, ms);
  const after = await soFar(redis);
  return { perSecond, cpuUs, redisUs: (after.us - before.us) / done, perScript: done / (after.scripts - before.scripts) };
}

async function sentTogether(url) {
  const [limiter, redis] = [await RateLimiter.connect(url, { rules }), new Redis(url)];
  const figures = Object.fromEntries(Object.keys(LOADS).map((load) => [load, []]));
  for (let round = -1; round < rounds; round++) {
    for (const [load, kind] of Object.entries(LOADS)) {
      const result = await slice(limiter, redis, kind);
      // The first round warms up.
      if (round >= 0) figures[load].push(result);
    }
  }
  head('Node', 'checks/s', 'client, us', 'Redis, us', 'checks a script', `ratio to ${REFERENCE}`, 'at least');
  for (const [load, slices] of Object.entries(figures)) {
    const ratio = median(slices.map(({ perSecond }, at) => perSecond / figures[REFERENCE][at].perSecond));
    const middle = (figure) => median(slices.map((one) => one[figure]));
    row(
      load,
      whole(middle('perSecond')),
      middle('cpuUs').toFixed(2),
      middle('redisUs').toFixed(2),
      middle('perScript').toFixed(1),
      ratio.toFixed(2),
      load === 'one key' ? verdict(ratio >= TOGETHER, TOGETHER) : '',
    );
  }
  await Promise.all([limiter.close(), redis.quit()]);
}

async function leased(url) {
  const limiter = await RateLimiter.connect(url, { rules, prefix: 'leased' });
  const slices = [];
  for (let round = -1; round < rounds; round++) {
    const result = await inStrides(() => limiter.check('leased', 'hot'), ms);
    if (round >= 0) slices.push(result);
  }
  const { lease = { admitted: 0 }, ...others } = limiter.metrics().rules.leased.decisions;
  const elsewhere = Object.values(others).reduce((sum, { admitted }) => sum + admitted, 0);
  const rate = median(slices.map(({ perSecond }) => perSecond));
  head('one key, one caller', 'checks/s', 'client, us', 'decided by borrowed units', 'at least');
  row(
    'Node',
    whole(rate),
    median(slices.map(({ cpuUs }) => cpuUs)).toFixed(2),
    `${((lease.admitted / (lease.admitted + elsewhere)) * 100).toFixed(2)} %`,
    verdict(rate >= LEASED, LEASED),
  );
  await limiter.close();
}

const redis = await servers.start('redis');
console.log(`Node ${process.version}, ${cpus().length} CPUs (${cpus()[0].model}), ${rounds} rounds of ${ms} ms each\n`);
await sentTogether(redis.redis);
console.log();
await leased(redis.redis);
await redis.stop();
