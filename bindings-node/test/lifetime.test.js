'use strict';

// Processes, worker threads and the garbage collector.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { after, before, test } = require('node:test');
const { setTimeout: sleep } = require('node:timers/promises');
const { Worker } = require('node:worker_threads');
const { RateLimiter } = require('sluicegate');
const { start } = require('./servers.js');

const RULES = [
  { rule_id: 'hot', algorithm: 'fixed_window', limit: 100, window_size_seconds: 3600, window_start: 'first_request' },
  { rule_id: 'slow', algorithm: 'uniform', limit: 1, window_size_seconds: 0.3 },
];

let servers;
before(async () => (servers = await start('redis')));
after(() => servers.stop());

/** The beginning of every program: `open()` connects. */
const prelude = (url) => `
  const { RateLimiter } = require('sluicegate');
  const open = () => RateLimiter.connect(${JSON.stringify(url)}, { rules: ${JSON.stringify(RULES)} });
`;

/** Runs a program of its own, and returns what it wrote. It has to end by itself, in time. */
async function run(program, ...flags) {
  const child = spawn(process.execPath, [...flags, '-e', program], {
    cwd: join(__dirname, '..'),
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 20_000,
  });
  let written = '';
  child.stdout.on('data', (data) => (written += data));
  const [status, signal] = await once(child, 'close');
  assert.deepEqual([status, signal], [0, null]);
  return written.trim();
}

for (const backend of ['memory', 'redis']) {
  const url = () => (backend === 'memory' ? 'memory://' : servers.redis);

  test(`a limiter at rest does not keep the process (${backend})`, async () => {
    const written = await run(`${prelude(url())} open().then(async (limiter) => {
      await limiter.check('hot', 'rest');
      globalThis.kept = limiter;
      process.stdout.write('done');
    });`);
    assert.equal(written, 'done');
  });

  test(`pending calls keep the process (${backend})`, async () => {
    const written = await run(`${prelude(url())} open().then(async (limiter) => {
      await limiter.check('slow', 'pending');
      await limiter.wait('slow', 'pending', { timeoutMs: 5000 });
      process.stdout.write('waited');
    });`);
    assert.equal(written, 'waited');
  });

  test(`a wait that was given up neither keeps the process nor disturbs later calls (${backend})`, async () => {
    const written = await run(`${prelude(url())} open().then(async (limiter) => {
      // Answers and aborts cross on their way, in every order.
      for (let time = 0; time < 300; time++) {
        const controller = new AbortController();
        const wait = limiter.wait('slow', 'given up ' + time, { timeoutMs: 0, signal: controller.signal });
        setTimeout(() => controller.abort(), time % 3);
        await wait.catch(() => {});
        await new Promise(setImmediate);
      }
      await limiter.check('slow', 'given up');
      const signal = AbortSignal.timeout(20);
      setTimeout(() => {}, 50);
      await limiter.wait('slow', 'given up', { timeoutMs: Infinity, signal }).catch(() => {});
      process.stdout.write(String((await limiter.check('slow', 'given up')).allowed));
    });`);
    assert.equal(written, 'false');
  });

  test(`exit with calls pending is clean (${backend})`, async () => {
    await run(`${prelude(url())} open().then((limiter) => {
      for (let time = 0; time < 100; time++) limiter.check('hot', 'exit');
      limiter.wait('slow', 'exit', { timeoutMs: 5000 });
      process.exit();
    });`);
  });

  test(`what nobody refers to is collected (${backend})`, async () => {
    const written = await run(
      `${prelude(url())}
      const registry = new FinalizationRegistry(() => collected++);
      let collected = 0;
      (async () => {
        for (let time = 0; time < 20; time++) {
          const limiter = await open();
          await limiter.check('hot', 'collect');
          registry.register(limiter);
        }
        for (let time = 0; time < 50 && collected < 19; time++) {
          gc();
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
        process.stdout.write(String(collected));
      })();`,
      '--expose-gc',
    );
    assert.ok(Number(written) >= 19, `${written} of 20 were collected`);
  });
}

test('a limiter at rest leaves the event loop alone', async (t) => {
  const count = 'performance.nodeTiming.uvMetricsInfo?.loopCount';
  const written = await run(`${prelude(servers.redis)}
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    open().then(async (limiter) => {
      await limiter.check('hot', 'quiet');
      // Beyond the time of the call.
      await sleep(800);
      const before = ${count};
      await sleep(300);
      process.stdout.write(String(${count} - before));
    });`);
  if (written === 'NaN') return t.skip('this Node does not count turns');
  assert.ok(Number(written) < 30, `${written} turns`);
});

test('threads of a limiter end with it', async () => {
  const written = await run(
    `${prelude(servers.redis)}
    const threads = () => require('node:fs').readdirSync('/proc/self/task').length;
    (async () => {
      await open();
      const before = threads();
      for (let time = 0; time < 20; time++) await open();
      for (let time = 0; time < 50; time++) {
        gc();
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      process.stdout.write(String(threads() - before));
    })();`,
    '--expose-gc',
  );
  assert.ok(Number(written) <= 1, `${written} threads are left`);
});

test('a limiter that is closed has neither descriptors nor threads left', async (t) => {
  if (process.platform !== 'linux') return t.skip('needs /proc');
  const written = await run(`${prelude(servers.redis)}
    const { readFileSync, readdirSync } = require('node:fs');
    const { setTimeout: sleep } = require('node:timers/promises');
    // Of a thread that was joined the kernel lists a rest for a moment, marked as ending: flag 4.
    const lives = (task) => {
      try {
        const stat = readFileSync('/proc/self/task/' + task + '/stat', 'utf8');
        return (Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[6]) & 4) === 0;
      } catch (error) {
        if (error.code === 'ENOENT' || error.code === 'ESRCH') return false;
        throw error;
      }
    };
    const opened = () => [readdirSync('/proc/self/fd').length, readdirSync('/proc/self/task').filter(lives).length];
    // So that the thread which connects has ended, is about to, or has calls under way.
    const pauses = [
      (limiter) => limiter.check('hot', 'closed'),
      (limiter) => Promise.all([limiter.check('hot', 'closed'), limiter.check('hot', 'closed'), sleep(2)]),
      () => {},
      (limiter) => {
        limiter.check('hot', 'closed').catch(() => {});
        return new Promise(setImmediate);
      },
    ];
    (async () => {
      const one = async (time) => {
        const limiter = await open();
        await pauses[time % pauses.length](limiter);
        await Promise.all([limiter.close(), limiter.close()]);
        return limiter;
      };
      // The first ones open what stays.
      for (let time = 0; time < pauses.length; time++) await one(time);
      const before = String(opened());
      const kept = [];
      for (let time = 0; time < 200; time++) {
        kept.push(await one(time));
        const now = String(opened());
        if (now !== before) return process.stdout.write(time + ': ' + now + ' instead of ' + before);
      }
      process.stdout.write('none');
    })();`);
  assert.equal(written, 'none');
});

test('a limiter that is closed leaves no place held of which nobody learns', async () => {
  const rules = [{ rule_id: 'places', algorithm: 'concurrency', limit: 5000, lease_seconds: 600 }];
  const looking = await RateLimiter.connect(servers.redis, { rules });
  for (let round = 1; round <= 12; round++) {
    const limiter = await RateLimiter.connect(servers.redis, { rules });
    const key = `close-${round}`;
    let granted = 0;
    const caller = async () => {
      try {
        while ((await limiter.reserve('places', key)).allowed) granted++;
      } catch (error) {
        if (error.code !== 'Closed') throw error;
      }
    };
    const callers = Array.from({ length: 20 }, caller);
    for (let turn = 0; turn < round * 3; turn++) await new Promise(setImmediate);
    await Promise.all([limiter.close(), ...callers]);
    const { remaining } = await looking.peek('places', key);
    assert.equal(5000 - remaining, granted, key);
  }
  await looking.close();
});

test('a limiter that cannot connect leaves no descriptors', async (t) => {
  if (process.platform !== 'linux') return t.skip('needs /proc');
  const written = await run(`${prelude('redis://127.0.0.1:1')}
    const opened = () => require('node:fs').readdirSync('/proc/self/fd').length;
    (async () => {
      const before = opened();
      for (let time = 0; time < 50; time++) await open().catch(() => {});
      process.stdout.write(String(opened() - before));
    })();`);
  assert.ok(Number(written) < 20, `${written} are left`);
});

test('the thread that follows a file neither keeps the process nor outlives its limiter', async (t) => {
  const place = mkdtempSync(join(tmpdir(), 'sluicegate-'));
  t.after(() => rmSync(place, { recursive: true }));
  const rules = join(place, 'rules.json');
  writeFileSync(rules, JSON.stringify(RULES));
  const written = await run(
    `const { RateLimiter } = require('sluicegate');
    const { setTimeout: sleep } = require('node:timers/promises');
    const names = () => require('node:fs').readdirSync('/proc/self/task')
      .map((task) => require('node:fs').readFileSync('/proc/self/task/' + task + '/comm', 'utf8').trim());
    // Linux keeps the first 15 letters.
    const followers = () => names().filter((name) => name === 'sluicegate-rule').length;
    const open = () => RateLimiter.connect('memory://', { rules: ${JSON.stringify(rules)} });
    (async () => {
      for (let time = 0; time < 5; time++) await open();
      const begun = followers();
      for (let time = 0; time < 50 && followers() > 0; time++) {
        gc();
        await sleep(10);
      }
      globalThis.kept = [begun, followers(), await open()];
      process.stdout.write(kept.slice(0, 2).join());
    })();`,
    '--expose-gc',
  );
  assert.equal(written, '5,0');
});

test('an abandoned promise disturbs no other', async () => {
  const written = await run(`${prelude(servers.redis)} open().then(async (limiter) => {
    for (let time = 0; time < 50; time++) limiter.check('hot', 'abandoned');
    const { remaining } = await limiter.check('hot', 'abandoned');
    process.stdout.write(String(remaining));
  });`);
  assert.equal(written, '49');
});

test('worker threads share a limit, and may end at any time', async () => {
  const program = `${prelude(servers.redis)}
    const { parentPort } = require('node:worker_threads');
    open().then(async (limiter) => {
      const calls = Array.from({ length: 40 }, () => limiter.check('hot', 'workers'));
      const decisions = await Promise.all(calls);
      parentPort.postMessage(decisions.filter((decision) => decision.allowed).length);
      for (;;) await limiter.peek('hot', 'workers');
    });`;
  const workers = Array.from({ length: 4 }, () => new Worker(program, { eval: true }));
  const admitted = await Promise.all(workers.map(async (worker) => (await once(worker, 'message'))[0]));
  await sleep(20);
  await Promise.all(workers.map((worker) => worker.terminate()));
  assert.equal(admitted.reduce((sum, count) => sum + count), 100);
});
