'use strict';

// Programs among the examples, installed as their users would have them.

const { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { basename, dirname, join } = require('node:path');
const { devDependencies } = require('../package.json');

const root = join(__dirname, '..');

/** A folder with these files of `examples` and the packages that they import, and a function that removes it. */
function project(...files) {
  const folder = mkdtempSync(join(tmpdir(), 'sluicegate-'));
  for (const file of files) copyFileSync(join(root, '../examples', file), join(folder, basename(file)));
  link(root, join(folder, 'node_modules/sluicegate'));
  for (const name of Object.keys(devDependencies)) link(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}

function link(target, place) {
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(target, place);
}

module.exports = { project };
