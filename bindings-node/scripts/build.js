'use strict';

// Builds the native part from the Rust sources: those of the package, or those of the repository it is in.

const { spawnSync } = require('node:child_process');
const { copyFileSync, existsSync, mkdirSync, renameSync } = require('node:fs');
const { dirname, join } = require('node:path');

const root = join(__dirname, '..');
const target = join(root, 'native', `sluicegate.${process.platform}-${process.arch}.node`);

/** The Cargo workspace to build in. */
function workspace() {
  const packed = join(root, 'rust');
  return existsSync(packed) ? packed : join(root, '..');
}

/** Runs cargo, and returns the library that it made. */
function compile() {
  const args = ['rustc', '--release', '--locked', '--package', 'sluicegate-node', '--message-format', 'json'];
  // Line tables are for whoever works on the Rust code.
  args.push('--', '-C', 'strip=debuginfo');
  const cargo = spawnSync('cargo', args, {
    cwd: workspace(),
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    maxBuffer: Infinity,
  });
  if (cargo.error?.code === 'ENOENT') {
    throw new Error('sluicegate has no prebuilt native part for this platform; to build it, install Rust: https://rustup.rs');
  }
  if (cargo.error) throw cargo.error;
  if (cargo.status !== 0) throw new Error(`cargo ended with status ${cargo.status ?? cargo.signal}`);
  return library(cargo.stdout);
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

/** Builds, and puts the result where lib/native.js looks for it, in one step: a process may have it loaded. */
function build() {
  const made = compile();
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(made, `${target}.new`);
  renameSync(`${target}.new`, target);
}

module.exports = { build, target };

if (require.main === module) build();
