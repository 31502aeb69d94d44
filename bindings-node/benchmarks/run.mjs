// Compares this package with what else there is for Node, on one Redis and in memory:
//
//     benchmarks/run [rounds] [milliseconds of a slice]
//
// In every round each contender has its turn, so that what else the machine does strikes all alike. Figures
// are medians over the rounds; ratios are medians of the ratios within each round.

import { cpus } from 'node:os';
import { IN_MEMORY, ON_REDIS } from './contenders.mjs';
import { oneByOne, quantile, together } from './measure.mjs';
import { table } from './table.mjs';

const [rounds, ms] = [Number(process.argv[2] ?? 15), Number(process.argv[3] ?? 300)];
const IN_FLIGHT = 64;
const KEYS = {
  'one hot key': ['hot'],
  '10,000 keys': Array.from({ length: 10_000 }, (_, number) => `user:${number}`),
};

/** Every contender's slices: an array of results per contender. */
async function interleave(contenders, slice) {
  const opened = [];
  for (const [name, connect] of Object.entries(contenders)) {
    opened.push({ name, limiter: await connect(process.env.SLUICEGATE_BENCH_REDIS), results: [] });
  }
  for (let round = -1; round < rounds; round++) {
    for (const { limiter, results } of opened) {
      const result = await slice(limiter.check);
      // The first round warms up.
      if (round >= 0) results.push(result);
    }
  }
  for (const { limiter } of opened) await limiter.close();
  return new Map(opened.map(({ name, results }) => [name, results]));
}

const latency = (keys) => async (check) => {
  const times = await oneByOne(check, keys, ms);
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
};
const throughput = (keys) => (check) => together(check, keys, IN_FLIGHT, ms);

/** Too short to be timed one by one. */
const oneAtATime = (keys) => (check) => together(check, keys, 1, ms);

console.log(`Node ${process.version}, ${cpus().length} CPUs (${cpus()[0].model}), ${rounds} rounds of ${ms} ms each\n`);
for (const [label, keys] of Object.entries(KEYS)) {
  console.log(`### Redis, 1 in flight, ${label}\n`);
  console.log(table(await interleave(ON_REDIS, latency(keys)), { p50: 'p50 us', p99: 'p99 us' }));
  console.log(`### Redis, ${IN_FLIGHT} in flight, ${label}\n`);
  console.log(table(await interleave(ON_REDIS, throughput(keys)), { perSecond: 'checks/s', cpuUs: 'CPU us a check' }));
  console.log(`### In memory, ${label}\n`);
  console.log(table(await interleave(IN_MEMORY, oneAtATime(keys)), { perSecond: 'checks/s', cpuUs: 'CPU us a check' }));
}
