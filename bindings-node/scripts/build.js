'use strict';

// Builds the native part from the Rust sources: those of the package, or those of the repository it is in.

const { spawnSync } = require('node:child_process');
const { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { dirname, join } = require('node:path');

const root = join(__dirname, '..');
const target = join(root, 'native', `sluicegate.${process.platform}-${process.arch}.node`);
const packed = join(root, 'rust');

/** Whether this is the package as npm delivers it, rather than its folder in the repository. */
const isPacked = !existsSync(join(root, 'Cargo.toml'));

/**
 * Runs cargo, and hands the library that it made to `use`. In an installed package nobody builds twice, and
 * what cargo leaves is larger than all else; so it works in a temporary folder.
 */
function compile(use) {
  if (!isPacked) return use(cargo(join(root, '..'), []));
  const scratch = mkdtempSync(join(tmpdir(), 'sluicegate-'));
  try {
    return use(cargo(packed, ['--target-dir', scratch]));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function cargo(workspace, place) {
  const args = ['rustc', '--release', '--locked', '--package', 'sluicegate-node', '--message-format', 'json', ...place];
  // Line tables are for whoever works on the Rust code.
  args.push('--', '-C', 'strip=debuginfo');
  const child = spawnSync('cargo', args, {
    cwd: workspace,
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    maxBuffer: Infinity,
  });
  if (child.error?.code === 'ENOENT') {
    throw new Error('sluicegate has no prebuilt native part for this platform; to build it, install Rust: https://rustup.rs');
  }
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

/** Builds, and puts the result where lib/native.js looks for it, in one step: a process may have it loaded. */
function build() {
  mkdirSync(dirname(target), { recursive: true });
  const copy = `${target}.${process.pid}`;
  compile((made) => copyFileSync(made, copy));
  renameSync(copy, target);
}

module.exports = { build, isPacked, target };

if (require.main === module) build();
