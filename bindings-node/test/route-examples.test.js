'use strict';

// The applications in examples/routes, installed as their users would have them, do what the pages of their frameworks say.

const assert = require('node:assert/strict');
const { execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const { join } = require('node:path');
const { createInterface } = require('node:readline');
const { test } = require('node:test');
const { ask } = require('./http.js');
const { project } = require('./project.js');
const { redisFor } = require('./servers.js');

const onRedis = redisFor('route-examples');

const APPLICATIONS = {
  express: 'express_routes.mjs',
  fastify: 'fastify_routes.mjs',
  koa: 'koa_routes.mjs',
  hono: 'hono_routes.mjs',
  nestjs: 'nestjs_routes.mts',
  trpc: 'trpc_routes.mjs',
};

/** How tRPC is asked for a report, and answers. */
const TRPC = {
  report: (number) => `/report?input=${number}`,
  content: ({ result }) => result.data,
  headers: { 'content-type': 'application/json' },
};
const HTTP = { report: (number) => `/reports/${number}`, content: (body) => body, headers: {} };

/** Compiles an application in TypeScript, whose types are checked. */
function compiled(folder, file) {
  const tsc = join(__dirname, '../node_modules/typescript/bin/tsc');
  const options = ['--module', 'nodenext', '--target', 'es2022', '--experimentalDecorators', '--skipLibCheck', '--strict', '--types', 'node'];
  execFileSync(process.execPath, [tsc, ...options, file], { cwd: folder, stdio: 'inherit' });
  return file.replace(/\.mts$/, '.mjs');
}

/** Starts an application. All of them name their rules alike, so each has a database of its own. */
async function start(t, framework) {
  const example = APPLICATIONS[framework];
  const { folder, remove } = project(`routes/${example}`);
  const file = example.endsWith('.mts') ? compiled(folder, example) : example;
  const database = Object.keys(APPLICATIONS).indexOf(framework) + 1;
  const LIMITER_URL = new URL(`/${database}`, onRedis().url).href;
  const env = { ...process.env, LIMITER_URL, PROXIES: '1', PORT: '0' };
  const child = spawn(process.execPath, [file], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => {
    child.kill();
    remove();
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const [, port] = /^listening on port (\d+)$/.exec(line) ?? [];
    if (port) return Number(port);
  }
  const [status] = await once(child, 'exit');
  throw new Error(`${example} ended with status ${status}`);
}

const from = (address) => ({ 'x-forwarded-for': address });
const as = (user) => ({ authorization: `Bearer ${user}` });

for (const framework of Object.keys(APPLICATIONS)) {
  test(`what the page of a framework says (${framework})`, async (t) => {
    const port = await start(t, framework);
    const { report, content, headers } = framework === 'trpc' ? TRPC : HTTP;
    const signUp = (address) => ask(port, '/signup', { method: 'POST', headers: { ...headers, ...from(address) } });
    const get = (path, headers) => ask(port, path, { headers });
    const statuses = async (times, asked) => {
      const got = [];
      for (let at = 0; at < times; at++) got.push((await asked(at)).status);
      return got;
    };

    // By the address, which the proxy tells.
    assert.deepEqual(await statuses(4, () => signUp('192.0.2.1')), [200, 200, 200, 429]);
    assert.equal((await signUp('192.0.2.2')).status, 200);

    // An answer of its own, with the headers of a denial.
    const denied = await signUp('192.0.2.1');
    assert.deepEqual(Object.keys(JSON.parse(denied.body)), ['error']);
    const wait = Number(denied.headers['retry-after']);
    assert.ok(wait > 0 && wait <= 1200, `Retry-After: ${wait}`);
    assert.match(denied.headers['ratelimit'], /3\/hour";r=0/);

    // By the user, wherever they come from and whatever the path holds.
    const ofUser = (user) => (number) => get(report(number), { ...as(user), ...from(`198.51.100.${number}`) });
    assert.deepEqual(await statuses(5, ofUser('alice')), [200, 200, 200, 200, 429]);
    const ofBob = await ofUser('bob')(7);
    assert.deepEqual(content(JSON.parse(ofBob.body)), { report: 7, left: 3 });
    assert.match(ofBob.headers['ratelimit'], /4\/hour";r=3/);
    const { status } = await get(report(7));
    assert.ok([401, 403].includes(status), `${status}`);

    // By the plan.
    assert.deepEqual(await statuses(3, () => get('/exports', as('bob'))), [200, 200, 429]);
    assert.deepEqual(await statuses(5, () => get('/exports', as('alice'))), [200, 200, 200, 200, 429]);

    // The health check is not limited, and its answer has no headers of a limit.
    const health = await get('/health', from('192.0.2.1'));
    assert.deepEqual([health.status, health.headers['ratelimit']], [200, undefined]);
  });
}
