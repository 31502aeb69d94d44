// The worker in JavaScript.

import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { RateLimiter } from 'sluicegate';

const [url, rules, prefix, ...rest] = process.argv.slice(2);
const [lanes, rounds, heavy, pauseUs] = rest.slice(0, 4).map(Number);
const names = rest.slice(4);
const targets = Array.from({ length: names.length / 2 }, (_, at) => [names[2 * at], names[2 * at + 1]]);
// Longer than anything takes here.
const timeouts = { connectTimeoutMs: 30_000, responseTimeoutMs: 30_000 };
const identifierSecret = 'known to the whole fleet';

// Of a fleet over several regions; the times are short enough for servers that go away.
const { FLEET_REGION: region, FLEET_REGIONS: regions } = process.env;
const away = { connectTimeoutMs: 300, responseTimeoutMs: 300, fallback: 'deny' };
const over = region ? { region, regions: JSON.parse(regions), ...away } : {};

const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const limiter = await RateLimiter.connect(url, { rules, prefix, identifierSecret, ...timeouts, ...over });

/** Whole milliseconds, so it is early; one more is late. */
const early = () => Date.now() * 1000;
const late = () => (Date.now() + 1) * 1000;
const micros = (ms) => (ms === Infinity ? -1 : Math.round(ms * 1000));

async function line(target, cost, before, call) {
  const { allowed, remaining, retryAfterMs, resetAfterMs } = await call;
  const times = [micros(retryAfterMs), micros(resetAfterMs), before, late()];
  return [target, cost, Number(allowed), remaining, ...times].join(' ');
}

function peek() {
  return Promise.all(targets.map(([rule, key], at) => line(at, 1, early(), limiter.peek(rule, key))));
}

function check(target, cost) {
  const [rule, key] = targets[target];
  return line(target, cost, early(), limiter.check(rule, key, { cost }));
}

async function hammer(lane) {
  const lines = [];
  for (let turn = 0; turn < rounds; turn++) {
    const cost = turn < heavy ? 2 : 1;
    lines.push(...(await Promise.all(targets.map((_, at) => check((lane + at) % targets.length, cost)))));
    await sleep(pauseUs / 1000);
  }
  return lines;
}

await peek();
console.log('ready');
await input.next();
const answers = await Promise.all(Array.from({ length: lanes }, (_, lane) => hammer(lane)));
console.log(answers.flat().join('\n'));
console.log('done');
await input.next();
console.log((await peek()).join('\n'));
await limiter.close();
process.stdin.destroy();
