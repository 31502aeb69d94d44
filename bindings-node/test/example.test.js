'use strict';

// The application in examples, installed as its users would have it.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { readFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { createInterface } = require('node:readline');
const { test } = require('node:test');
const { ask } = require('./http.js');
const { project } = require('./project.js');

test('an application in Express', async (t) => {
  const { folder, remove } = project('express_app.mjs', 'orders.jsonc');
  const child = spawn(process.execPath, ['express_app.mjs'], {
    cwd: folder,
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => {
    child.kill();
    remove();
  });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const port = Number(line.split(':').at(-1));

  const login = () => ask(port, '/login', { method: 'POST' });
  for (let time = 0; time < 5; time++) assert.equal((await login()).status, 200);
  const denied = await login();
  assert.deepEqual([denied.status, denied.headers['retry-after']], [429, '60']);
  assert.equal(JSON.parse(denied.body).rule, 'login_attempts_per_ip');

  const order = () => ask(port, '/orders/7', { headers: { authorization: 'Bearer alice' } });
  const { body, headers } = await order();
  assert.deepEqual(JSON.parse(body), { order: '7', of: 'alice' });
  assert.match(headers.ratelimit, /^"api_user_get_orders";r=49;t=\d+$/);

  const rules = readFileSync(join(folder, 'orders.jsonc'), 'utf8');
  writeFileSync(join(folder, 'orders.jsonc'), rules.replace('"limit": 50', '"limit": 1'));
  const end = Date.now() + 30_000;
  while ((await order()).status !== 429) assert.ok(Date.now() < end, 'the change was not seen');
});
