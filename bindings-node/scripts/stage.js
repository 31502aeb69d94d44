'use strict';

// Before the package is packed: puts the Rust sources that it builds from into rust/, as a Cargo workspace
// with the same layout as the repository. `--remove` takes them away again.

const { execFileSync } = require('node:child_process');
const { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs');
const { basename, join } = require('node:path');

const root = join(__dirname, '..');
const repository = join(root, '..');
const staged = join(root, 'rust');

/** What the native part is made of. Those of the tests are there for the manifest of `core` to be valid. */
const SOURCES = [
  'Cargo.lock',
  'LICENSE',
  'LICENSE-APACHE',
  'LICENSE-MIT',
  'lua',
  'core',
  'tests/servers',
  'tests/fuzz',
  'bindings-node/Cargo.toml',
  'bindings-node/build.rs',
  'bindings-node/src',
];
const MEMBERS = 'members = ["lua", "core", "bindings-node", "tests/servers", "tests/fuzz"]';
const LEFT_OUT = new Set(['target', 'node_modules']);

/** Packing takes less; a folder that is older was left by one that was killed. */
const PATIENCE_MS = 60_000;

function stage() {
  const workspace = mkdtempSync(join(root, 'rust.'));
  for (const source of SOURCES) {
    const filter = (path) => !LEFT_OUT.has(basename(path));
    cpSync(join(repository, source), join(workspace, source), { recursive: true, filter });
  }
  const manifest = readFileSync(join(repository, 'Cargo.toml'), 'utf8');
  writeFileSync(join(workspace, 'Cargo.toml'), manifest.replace(/^members = \[[^\]]*\]/m, MEMBERS));
  // The packages that other members need leave the lock file; the versions of the rest stay.
  execFileSync('cargo', ['update', '--workspace', '--offline', '--quiet'], { cwd: workspace, stdio: 'inherit' });
  putInPlace(workspace);
}

/** Waits until no other packing is under way. */
function putInPlace(workspace) {
  for (const end = Date.now() + PATIENCE_MS; ; sleep(100)) {
    if (Date.now() > end) remove();
    try {
      return renameSync(workspace, staged);
    } catch (error) {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    }
  }
}

function sleep(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function remove() {
  rmSync(staged, { recursive: true, force: true });
}

if (process.argv.includes('--remove')) remove();
else stage();
