'use strict';

// The native part: one that was built here from source, or that of the package for this platform.

const { existsSync } = require('node:fs');
const { join } = require('node:path');

/** The packages, each named in full: so bundlers find them, and leave out what is not installed. */
const PACKAGES = {
  'darwin-arm64': () => require('@sluicegate/darwin-arm64'),
  'darwin-x64': () => require('@sluicegate/darwin-x64'),
  'linux-arm64-gnu': () => require('@sluicegate/linux-arm64-gnu'),
  'linux-arm64-musl': () => require('@sluicegate/linux-arm64-musl'),
  'linux-x64-gnu': () => require('@sluicegate/linux-x64-gnu'),
  'linux-x64-musl': () => require('@sluicegate/linux-x64-musl'),
  'win32-x64-msvc': () => require('@sluicegate/win32-x64-msvc'),
};

/** `gnu` or `musl`, the C libraries of Linux. */
function libc() {
  /** @type {any} */
  const report = process.report;
  if (report === undefined) return 'gnu';
  const { excludeNetwork } = report;
  // It would look up the names of all peers.
  report.excludeNetwork = true;
  try {
    return report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'gnu';
  } finally {
    report.excludeNetwork = excludeNetwork;
  }
}

/** This platform, as its package is called. */
function platform() {
  const name = `${process.platform}-${process.arch}`;
  if (process.platform === 'linux') return `${name}-${libc()}`;
  return process.platform === 'win32' ? `${name}-msvc` : name;
}

function load() {
  const built = join(__dirname, '..', 'native', `sluicegate.${process.platform}-${process.arch}.node`);
  if (existsSync(built)) return require(built);
  const name = platform();
  const loader = PACKAGES[name];
  if (loader === undefined) throw failure(name, undefined);
  try {
    return loader();
  } catch (cause) {
    throw failure(name, cause);
  }
}

/** Says what is missing, and what to do about each cause there is. */
function failure(name, cause) {
  const names = Object.keys(PACKAGES);
  const fromSource = 'build it from source: docs/platforms.md in the repository says how';
  const reason = isMissing(cause)
    ? `the package @sluicegate/${name} is not installed. Causes and remedies: ` +
      '(1) the package manager left out optional dependencies (--no-optional, --omit=optional), or node_modules or the ' +
      'lock file comes from another system: install again on this one. ' +
      '(2) A bundler (esbuild, webpack) moved the code away from its packages: declare "sluicegate" external. ' +
      `(3) The packages of this version lack this platform: ${fromSource}`
    : cause === undefined
      ? `there is no prebuilt package for it, only for ${names.join(', ')}. ` +
        `If a bundler (esbuild, webpack) chose the platform, declare "sluicegate" external; else ${fromSource}`
      : `@sluicegate/${name} cannot be loaded: ${cause.message}. Linux needs glibc 2.17 or musl 1.2; for an older ` +
        `system, ${fromSource}. If a bundler (esbuild, webpack) moved the file, declare "sluicegate" external`;
  const error = new Error(`sluicegate has no native part for ${name}: ${reason}`, { cause });
  return Object.assign(error, { code: 'ERR_SLUICEGATE_NATIVE' });
}

function isMissing(cause) {
  return cause?.code === 'MODULE_NOT_FOUND' || /Cannot find module/.test(cause?.message);
}

/** @type {{ NativeClock: any, NativeCredentials: any, NativeEvents: any, NativeLimiter: any, addressKey: Function, answerDenied: Function, answerInvalid: Function, answerUndecided: Function, clientAddress: Function, cli: (words: string[]) => number, headers: Function, isHeaderName: Function, joinKey: Function, normalRules: Function, open: Function, operations: Function }} */
const native = load();

module.exports = native;
