'use strict';

// The benchmark of limits at routes runs: a short one, whose figures mean nothing.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const { join } = require('node:path');
const { test } = require('node:test');

const FOLDER = join(__dirname, '../benchmarks');
const SHORT = ['--rounds', '1', '--seconds', '0.02', '--warm-up', '0'];
/** All applications, on Redis or in memory. */
const GROUPS = { 'NestJS and @nestjs/throttler, on Redis': 5, 'Express, in memory': 3, 'Fastify, in memory': 3 };
const HEAD = 2;

// It needs the clocks of processes, and epoll.
test('applications are compared', { skip: process.platform !== 'linux' }, () => {
  execFileSync('npm', ['ci', '--ignore-scripts', '--silent', '--no-fund', '--no-audit'], { cwd: FOLDER });
  const only = Object.keys(GROUPS).flatMap((title) => ['--only', title]);
  const program = [join(__dirname, '../../tests/benchmarks/routes'), 'routes.json', ...SHORT, ...only];
  const printed = execFileSync('python3', program, { cwd: FOLDER, encoding: 'utf8' });
  for (const [title, applications] of Object.entries(GROUPS)) {
    const [rows] = printed.split(`**${title}**\n\n`)[1].trim().split('\n\n');
    assert.equal(rows.split('\n').length, HEAD + applications, printed);
  }
});
