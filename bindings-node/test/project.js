'use strict';

// Programs among the examples, installed as their users would have them.

const { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const root = join(__dirname, '..');

/** A folder with these files of `examples` and the packages that they import, and a function that removes it. */
function project(...files) {
  const folder = mkdtempSync(join(tmpdir(), 'sluicegate-'));
  for (const file of files) copyFileSync(join(root, '../examples', file), join(folder, file));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules/sluicegate'));
  symlinkSync(join(root, 'node_modules/express'), join(folder, 'node_modules/express'));
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}

module.exports = { project };
