// The worker in JavaScript, see README.md.

import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { RateLimiter, SluicegateError } from 'sluicegate';

const [url, rules, prefix, instances, pauseUs, ...rest] = process.argv.slice(2);
const lanes = Array.from({ length: rest.length / 3 }, (_, at) => {
  const [rule, key, timeoutUs] = rest.slice(3 * at, 3 * at + 3);
  return { rule, key, options: Number(timeoutUs) ? { timeoutMs: Number(timeoutUs) / 1000 } : {} };
});
const counts = lanes.map(() => 0);
let isOver = false;

const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const limiter = await RateLimiter.connect(url, { rules, prefix, instances: Number(instances), lazy: true });

const clock = () => process.hrtime.bigint() / 1000n;

/** The result, who decided or the kind of the error, and what remains. */
async function ask({ rule, key, options }) {
  try {
    const { allowed, source, remaining } = await limiter.check(rule, key, options);
    return [Number(allowed), source, remaining];
  } catch (error) {
    if (!(error instanceof SluicegateError)) throw error;
    return ['-', error.code, 0];
  }
}

async function check(lane, at) {
  while (!isOver) {
    const before = clock();
    const said = await ask(lane);
    console.log([at, counts[at]++, before, clock(), ...said].join(' '));
    await sleep(Number(pauseUs) / 1000);
  }
}

console.log('ready');
await input.next();
const checking = Promise.all(lanes.map(check));
await input.next();
isOver = true;
await checking;
console.log(['done', ...counts].join(' '));
await limiter.close();
process.stdin.destroy();
