// The follower in JavaScript.

import { setTimeout as sleep } from 'node:timers/promises';
import { RateLimiter } from 'sluicegate';

const [url, rules, prefix] = process.argv.slice(2);
// Longer than anything takes here.
const timeouts = { connectTimeoutMs: 30_000, responseTimeoutMs: 30_000 };
// Between two rounds of calls.
const pauseMs = 10;
let over = false;
process.stdin.on('end', () => (over = true)).resume();

const limiter = await RateLimiter.connect(url, { rules, prefix, ...timeouts });
let admitted = 0;
let last;
while (!over) {
  const [check, { limit }] = await Promise.all([limiter.check('counted', 'k'), limiter.peek('changing', 'k')]);
  admitted += Number(check.allowed);
  if (limit !== last) console.log('limit', limit);
  last = limit;
  await sleep(pauseMs);
}
await limiter.close();
console.log('admitted', admitted);
