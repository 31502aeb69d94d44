'use strict';

// Makes the type declarations in types/ from the JSDoc of the sources, which tsc checks on the way.

const { spawnSync } = require('node:child_process');
const { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const root = join(__dirname, '..');
const types = join(root, 'types');

/** What adds to the requests of a framework; JSDoc cannot extend the types of another package. */
const FRAMEWORKS = ['express', 'fastify', 'hono'];

/** The package has other types for ES modules than for CommonJS ones, and the user's are to be ours. */
const TWICE = ['trpc'];

/** Makes the declarations in an empty folder. */
function declare(folder) {
  const scratch = mkdtempSync(join(tmpdir(), 'sluicegate-'));
  try {
    compile(scratch);
    const entries = modulesOf(join(root, 'lib'), '.mjs');
    for (const name of reachable(scratch, entries)) copyFileSync(join(scratch, name), join(folder, name));
    for (const name of FRAMEWORKS) extendRequests(folder, name);
    // The ES modules take all that they export from the CommonJS ones.
    for (const name of entries) writeFileSync(join(folder, `${name}.d.mts`), `export * from './${name}.js';\n`);
    for (const name of TWICE) copyFileSync(join(folder, `${name}.d.ts`), join(folder, `${name}.d.mts`));
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** Adds what is written by hand to the declarations of a module. */
function extendRequests(folder, name) {
  copyFileSync(join(root, 'lib', `${name}-request.d.ts`), join(folder, `${name}-request.d.ts`));
  const declarations = join(folder, `${name}.d.ts`);
  writeFileSync(declarations, `import './${name}-request.js';\n${readFileSync(declarations, 'utf8')}`);
}

function compile(folder) {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [tsc, '--project', root, '--outDir', folder], { stdio: 'inherit' });
  if (status !== 0) throw new Error('tsc does not accept the sources');
}

function modulesOf(folder, extension) {
  const names = readdirSync(folder).filter((name) => name.endsWith(extension));
  return names.map((name) => name.slice(0, -extension.length));
}

/** The files of those modules and of all that they refer to. The rest is private, and no user ever meets it. */
function reachable(folder, entries) {
  const files = new Set(entries.map((name) => `${name}.d.ts`));
  for (const file of files) {
    const text = readFileSync(join(folder, file), 'utf8');
    for (const [, name] of text.matchAll(/(?:from |import\()["']\.\/(\w+)\.js["']/g)) files.add(`${name}.d.ts`);
  }
  return files;
}

module.exports = { declare, types };

if (require.main === module) {
  rmSync(types, { recursive: true, force: true });
  mkdirSync(types);
  declare(types);
}
