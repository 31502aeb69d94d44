// The holder in JavaScript.

import { RateLimiter } from 'sluicegate';

const [url, rules, prefix, call, first, cost] = process.argv.slice(2);
const calls = {
  reserve: async () => (await limiter.reserve('held', 'key', { cost: Number(first) })).id,
  peek: async () => (await limiter.peek('held', 'key')).remaining,
  commit: async () => Number(await limiter.commit(first, Number(cost))),
  release: async () => Number(await limiter.release(first)),
  renew: async () => Number(await limiter.renew(first)),
};

const limiter = await RateLimiter.connect(url, { rules, prefix });
console.log(await calls[call]());
await limiter.close();
