// What the way to the server costs: TLS against plain, a Cluster against one server, a server that does not answer:
//
//     benchmarks/run ways [rounds] [milliseconds of a slice]
//
// Slices of all ways in turn; figures are medians over the rounds, ratios those of the ratios within each round.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import servers from '../test/servers.js';
import { RateLimiter } from '../lib/index.mjs';
import { median, oneByOne, quantile, together } from './measure.mjs';

const [rounds, ms] = [Number(process.argv[3] ?? 5), Number(process.argv[4] ?? 300)];
const IN_FLIGHT = 64;
const PRIMARIES = 3;
const CALLS = 3000;
const rules = [{ rule_id: 'gcra', rate: '1000000000/h' }];
const KEYS = { 1: ['hot'], 10000: Array.from({ length: 10_000 }, (_, number) => `user:${number}`) };
/** What a way may take of the first: of the time of a call made alone, of the checks per second with 64 in flight. */
const TARGETS = { TLS: { 1: [1.2, 0.75] }, Cluster: { 1: [1.25, 0.75], 10000: [1.25, 0.6] } };
/** Long enough for the system's count of processor time, which is coarse. */
const SHARES_MS = 1000;
/** What an error of a silent server may take, in microseconds, and what of a core, beyond the calls themselves. */
const [ERROR_US, BEYOND] = [1000, 0.02];

const row = (...cells) => console.log(`| ${cells.join(' | ')} |`);
const head = (...columns) => {
  row(...columns);
  row(...columns.map(() => '---'));
};
const verdict = (met, target) => `${target} ${met ? 'met' : 'NOT MET'}`;
const ratio = (own, first) => median(own.map((value, at) => value / first[at]));

/** Every way's figures, for these keys. */
async function measured(ways, keys) {
  const figures = new Map(ways.map(([name]) => [name, { alone: [], rate: [] }]));
  for (let round = -1; round < rounds; round++) {
    for (const [name, limiter] of ways) {
      const check = (key) => limiter.check('gcra', key);
      const alone = quantile(await oneByOne(check, keys, ms), 0.5);
      const { perSecond } = await together(check, keys, IN_FLIGHT, ms);
      // The first round warms up.
      if (round < 0) continue;
      figures.get(name).alone.push(alone);
      figures.get(name).rate.push(perSecond);
    }
  }
  return figures;
}

async function compare(ways) {
  head('', 'plain: p50, us', 'p50, us', 'ratio', 'at most', 'plain: 64, checks/s', 'checks/s', 'ratio', 'at least');
  for (const [number, keys] of Object.entries(KEYS)) {
    const figures = await measured(ways, keys);
    const plain = figures.get('plain');
    for (const [name, { [number]: targets }] of Object.entries(TARGETS)) {
      if (!targets) continue;
      const own = figures.get(name);
      const [slower, faster] = [ratio(own.alone, plain.alone), ratio(own.rate, plain.rate)];
      const [alone, rate] = ['alone', 'rate'].map((figure) => [plain, own].map((way) => median(way[figure])));
      row(
        `Node, ${name}, ${number} keys`,
        ...alone.map((us) => us.toFixed(1)),
        slower.toFixed(2),
        verdict(Number(slower.toFixed(2)) <= targets[0], targets[0]),
        ...rate.map((calls) => Math.round(calls).toLocaleString('en')),
        faster.toFixed(2),
        verdict(Number(faster.toFixed(2)) >= targets[1], targets[1]),
      );
    }
  }
}

/** A call every millisecond: the sorted times in microseconds, how many failed, and the part of a core it took. */
async function paced(limiter, calls) {
  const [times, cpu, start] = [[], process.cpuUsage(), performance.now()];
  let failed = 0;
  for (let number = 0; number < calls; number++) {
    // A timer's smallest wait is a millisecond; what is late is made up for.
    while (performance.now() < start + number) await sleep(1);
    const began = performance.now();
    await limiter.check('gcra', 'k').catch(() => failed++);
    times.push((performance.now() - began) * 1000);
  }
  const { user, system } = process.cpuUsage(cpu);
  return { times: times.sort((a, b) => a - b), failed, part: (user + system) / 1000 / (performance.now() - start) };
}

/** What these processes have taken together, in seconds: proc_pid_stat(5), `utime` and `stime`. */
function processorTimeOf(pids) {
  const ticks = Number(execFileSync('getconf', ['CLK_TCK']));
  const times = pids.flatMap((pid) => {
    // The name, in brackets, may have spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').pop().split(' ');
    return fields.slice(11, 13).map(Number);
  });
  return times.reduce((sum, time) => sum + time) / ticks;
}

/** Who takes the processors while 64 checks of 10,000 keys are in flight. */
async function shares(ways, pids) {
  head('64 in flight, 10,000 keys', 'client, us a check', 'servers, us a check', 'client, cores', 'servers, cores');
  for (const [name, limiter] of ways) {
    const before = processorTimeOf(pids[name]);
    const check = (key) => limiter.check('gcra', key);
    const { perSecond, cpuUs } = await together(check, KEYS[10_000], IN_FLIGHT, SHARES_MS);
    const servers = processorTimeOf(pids[name]) - before;
    const seconds = SHARES_MS / 1000;
    row(
      `Node, ${name}`,
      cpuUs.toFixed(1),
      ((servers / (perSecond * seconds)) * 1e6).toFixed(1),
      ((cpuUs * perSecond) / 1e6).toFixed(2),
      (servers / seconds).toFixed(2),
    );
  }
}

async function silent(url, pid) {
  const limiter = await RateLimiter.connect(url, { rules, responseTimeoutMs: 50 });
  const memory = await RateLimiter.connect('memory://', { rules });
  process.kill(pid, 'SIGSTOP');
  try {
    // The circuit breaker opens.
    await paced(limiter, 8);
    const [remote, base] = [await paced(limiter, CALLS), await paced(memory, CALLS)];
    if (remote.failed !== CALLS || base.failed) throw new Error(`${remote.failed} and ${base.failed} calls failed`);
    const [p99, beyond] = [quantile(remote.times, 0.99), remote.part - base.part];
    const parts = [remote.part, base.part, beyond].map((part) => (part * 100).toFixed(1));
    head('', 'error: p50, us', 'p99, us', 'at most', 'CPU, % of a core', 'in memory, %', 'beyond, %', 'at most');
    row(
      'Node',
      quantile(remote.times, 0.5).toFixed(1),
      p99.toFixed(1),
      verdict(p99 <= ERROR_US, ERROR_US),
      ...parts,
      verdict(beyond <= BEYOND, BEYOND * 100),
    );
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await Promise.all([limiter.close(), memory.close()]);
}

const [one, several] = await Promise.all([servers.start('redis', 'tls'), servers.start('cluster')]);
// Replicas would take their share of the machine.
for (const replica of several.pids.slice(PRIMARIES)) process.kill(replica, 'SIGKILL');
const files = { tlsCa: one.tls_ca, tlsCert: one.tls_cert, tlsKey: one.tls_key };
const connect = (url, options) => RateLimiter.connect(url, { rules, ...options });
const ways = [
  ['plain', await connect(one.redis)],
  ['TLS', await connect(one.tls, files)],
  ['Cluster', await connect(several.cluster)],
];
console.log(`Node ${process.version}, ${cpus().length} CPUs (${cpus()[0].model}), ${rounds} rounds of ${ms} ms each\n`);
await compare(ways);
console.log();
await shares(ways, { plain: one.pids, TLS: one.pids, Cluster: several.pids.slice(0, PRIMARIES) });
console.log();
await silent(one.redis, one.pids[0]);
await Promise.all(ways.map(([, limiter]) => limiter.close()));
await Promise.all([one.stop(), several.stop()]);
