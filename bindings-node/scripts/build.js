'use strict';

// Builds the native part from the Rust sources of the repository, for this machine. Arguments are for cargo:
// `--profile dev` is faster to build, and slower.

const { spawnSync } = require('node:child_process');
const { copyFileSync, mkdirSync, renameSync } = require('node:fs');
const { dirname, join } = require('node:path');

const root = join(__dirname, '..');
const target = join(root, 'native', `sluicegate.${process.platform}-${process.arch}.node`);

/** The library that cargo makes. */
function compile() {
  const given = process.argv.slice(2);
  const profile = given.includes('--profile') ? [] : ['--release'];
  const args = ['build', '--locked', '--package', 'sluicegate-node', '--message-format', 'json', ...profile, ...given];
  const child = spawnSync('cargo', args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    maxBuffer: Infinity,
  });
  if (child.error?.code === 'ENOENT') throw new Error('cargo is missing; install Rust: https://rustup.rs');
  if (child.error) throw child.error;
  if (child.status !== 0) throw new Error(`cargo ended with status ${child.status ?? child.signal}`);
  return library(child.stdout);
}

/** The file of which cargo's messages say that it is the library. */
function library(messages) {
  const made = messages
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .findLast((message) => message.reason === 'compiler-artifact' && message.target.kind.includes('cdylib'));
  return made.filenames.find((name) => /\.(so|dylib|dll)$/.test(name));
}

/** Puts the library where lib/native.js looks for it, in one step: a process may have it loaded. */
function place(made) {
  mkdirSync(dirname(target), { recursive: true });
  const copy = `${target}.${process.pid}`;
  copyFileSync(made, copy);
  renameSync(copy, target);
}

place(compile());
