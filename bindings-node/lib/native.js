'use strict';

// The native part: as scripts/install.js left it.

const { existsSync } = require('node:fs');
const { join } = require('node:path');

const file = join(__dirname, '..', 'native', `sluicegate.${process.platform}-${process.arch}.node`);

if (!existsSync(file)) {
  throw new Error(
    `sluicegate has no native part for ${process.platform}-${process.arch}: ${file} is missing. ` +
      'It is made when the package is installed; run "npm rebuild sluicegate" (scripts must be allowed).',
  );
}

/** @type {{ NativeClock: any, NativeLimiter: any, headers: Function, open: Function, operations: Function }} */
const native = require(file);

module.exports = native;
