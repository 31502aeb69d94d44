'use strict';

// Before the package is packed: puts the Rust sources that it builds from into rust/, as a Cargo workspace
// with the same layout as the repository. `--remove` takes them away again.

const { execFileSync } = require('node:child_process');
const { cpSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { basename, join } = require('node:path');

const root = join(__dirname, '..');
const repository = join(root, '..');
const staged = join(root, 'rust');

/** What the native part is made of. The test servers are there for the manifest of `core` to be valid. */
const SOURCES = [
  'Cargo.lock',
  'LICENSE',
  'LICENSE-APACHE',
  'LICENSE-MIT',
  'lua',
  'core',
  'tests/servers',
  'bindings-node/Cargo.toml',
  'bindings-node/build.rs',
  'bindings-node/src',
];
const MEMBERS = 'members = ["lua", "core", "bindings-node", "tests/servers"]';
const LEFT_OUT = new Set(['target', 'node_modules']);

function stage() {
  rmSync(staged, { recursive: true, force: true });
  for (const source of SOURCES) {
    const filter = (path) => !LEFT_OUT.has(basename(path));
    cpSync(join(repository, source), join(staged, source), { recursive: true, filter });
  }
  const manifest = readFileSync(join(repository, 'Cargo.toml'), 'utf8');
  writeFileSync(join(staged, 'Cargo.toml'), manifest.replace(/^members = \[[^\]]*\]/m, MEMBERS));
  // The packages that other members need leave the lock file; the versions of the rest stay.
  execFileSync('cargo', ['update', '--workspace', '--offline', '--quiet'], { cwd: staged, stdio: 'inherit' });
}

if (process.argv.includes('--remove')) rmSync(staged, { recursive: true, force: true });
else stage();
