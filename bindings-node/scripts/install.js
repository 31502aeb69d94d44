'use strict';

// Run by npm when the package is installed: builds the native part, unless one for this platform came with
// the package and can be loaded. `SLUICEGATE_BUILD_FROM_SOURCE=1` builds in any case. In the repository
// it is always built, so that it is never stale.

const { build, isPacked, target } = require('./build.js');

function isLoadable() {
  try {
    require(target);
    return true;
  } catch {
    return false;
  }
}

const isWanted = process.env.SLUICEGATE_BUILD_FROM_SOURCE === '1';
if (!isPacked || isWanted || !isLoadable()) build();
