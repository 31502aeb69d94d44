// One of the processes of tests/benchmarks/accuracy, whose `src/worker.rs` says what it reads and writes.

import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';

const LIMIT = 10_000;
const IN_FLIGHT = 64;
const MOST_WAITING = 2_000;

const [, name, url] = process.argv.slice(2);
const storeClient = new Redis(url);
const memory = name.includes('inMemoryBlockOnConsumed') ? { inMemoryBlockOnConsumed: LIMIT } : {};
const limiter = new RateLimiterRedis({ storeClient, points: LIMIT, duration: 1, ...memory });

async function check() {
  try {
    await limiter.consume('hot');
    return true;
  } catch (denied) {
    // A denial is no `Error`.
    if (denied instanceof Error) throw denied;
    return false;
  }
}

async function paced(start, ms, rate) {
  const passed = () => performance.timeOrigin + performance.now() - start;
  const [begun, ended] = [new Uint32Array(ms), new Uint32Array(ms)];
  let [checks, waiting] = [0, 0];
  const one = async () => {
    const began = Math.min(Math.floor(passed()), ms - 1);
    const admitted = await check();
    waiting -= 1;
    const now = Math.floor(passed());
    if (!admitted || now >= ms) return;
    begun[began] += 1;
    ended[now] += 1;
  };
  while (passed() < ms) {
    const due = Math.floor((Math.max(passed(), 0) * rate) / 1000);
    for (; checks < due && waiting < MOST_WAITING; checks += 1) {
      waiting += 1;
      one();
    }
    await sleep(1);
  }
  while (waiting > 0) await sleep(1);
  console.log(`${checks} ${begun.join(',')} ${ended.join(',')}`);
}

async function full(ms) {
  let checks = 0;
  const cpu = process.cpuUsage();
  const until = performance.now() + ms;
  const caller = async () => {
    for (; performance.now() < until; checks += 1) {
      await check();
      // What decides in memory never lets the loop turn.
      if (checks % 256 === 0) await new Promise(setImmediate);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, caller));
  const { user, system } = process.cpuUsage(cpu);
  console.log(`${checks} ${user + system}`);
}

await storeClient.ping();
console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const [what, ...numbers] = line.split(' ');
  await (what === 'paced' ? paced : full)(...numbers.map(Number));
}
storeClient.disconnect();
