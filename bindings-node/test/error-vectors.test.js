'use strict';

// The vectors of mistakes in tests/vectors/errors, whose README describes them.

const assert = require('node:assert/strict');
const { readdirSync, readFileSync } = require('node:fs');
const { createServer } = require('node:net');
const { once } = require('node:events');
const { join } = require('node:path');
const { after, before, test } = require('node:test');
const { RateLimiter, SluicegateError, WrongTypeError } = require('sluicegate');
const { item, make, renamed, translated } = require('./calls.js');
const { start } = require('./servers.js');

const folder = join(process.env.SLUICEGATE_VECTORS ?? join(__dirname, '../../tests/vectors'), 'errors');
/** The vectors, each with the rules of its file unless it has its own. */
const vectors = [...readdirSync(folder), ...readdirSync(join(folder, 'reservations')).map((name) => join('reservations', name))]
  .filter((name) => name.endsWith('.json') && name !== 'schema.json')
  .sort()
  .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
  .flatMap((file) => file.vectors.map((vector) => ({ rules: file.rules, ...vector })));
const isForNode = ({ only }) => only === undefined || only.includes('node');

let servers;
let silent;
/** What the names in braces stand for. */
let addresses;
before(async () => {
  servers = await start('redis');
  silent = await listening();
  const nobody = await listening();
  addresses = { '{redis}': servers.redis.split('//')[1], '{silent}': address(silent), '{nobody}': address(nobody) };
  // Closed, it was free a moment ago.
  nobody.close();
});
after(async () => {
  silent.close();
  await servers.stop();
});

async function listening() {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function address(server) {
  return `127.0.0.1:${server.address().port}`;
}

test('mistakes', async () => {
  const played = vectors.filter(isForNode);
  const failed = [];
  for (const vector of played) failed.push(...(await differences(vector)));
  const skipped = vectors.length - played.length;
  const reasons = [...new Set(vectors.filter((vector) => !isForNode(vector)).map(({ why }) => why))].join('; ');
  const counts = `${played.length - failed.length} passed, ${failed.length} failed, ${skipped} skipped (${reasons})`;
  console.log(`vectors: Node, mistakes: ${counts}`);
  assert.equal(failed.join('\n'), '');
  assert.ok(played.length > 100);
});

/** What is not as expected on the first backend where something is not. */
async function differences(vector) {
  const expect = vector.instead?.node ?? vector.expect;
  for (const url of 'url' in vector ? [vector.url] : ['memory://', 'redis://{redis}']) {
    const error = await attempt(filled(url), vector).then(() => undefined, (reason) => reason);
    if (error === undefined) return [`${vector.id}: ${url}: no error`];
    if (!matches(error, expect)) {
      const answered = `${error.code ?? error.name}: ${error.message}`;
      return [`${vector.id}: ${url}\n  expected ${JSON.stringify(expect)}\n  answered ${answered}`];
    }
  }
  return [];
}

function filled(text) {
  if (typeof text !== 'string') return text;
  return Object.entries(addresses).reduce((filled, [name, address]) => filled.replaceAll(name, address), text);
}

function matches(error, { type_error, unknown_option, error: code, message, message_begins, retryable }) {
  if (unknown_option !== undefined) return error instanceof WrongTypeError && error.message.includes(`${unknown_option} is not known`);
  if (type_error !== undefined) {
    const names = error.message.match(/[\w.[\]]+/g) ?? [];
    return error instanceof WrongTypeError && names.some((name) => name.replace(/^.*\./, '') === renamed(type_error));
  }
  if (!(error instanceof SluicegateError) || error.code !== code || error.retryable !== retryable) return false;
  return message === undefined ? error.message.startsWith(filled(message_begins)) : error.message === filled(message);
}

async function attempt(url, vector) {
  const { options, rules, rules_file } = vector;
  const limiter = await RateLimiter.connect(url, {
    prefix: `node/${vector.id}`,
    ...translated(options),
    rules: rules_file ?? rules,
  });
  try {
    if (vector.closed) await limiter.close();
    const reservation = vector.reserve === undefined ? vector.reservation : await reserved(limiter, url, vector);
    if (vector.op !== undefined) await make(limiter, { ...vector, reservation });
  } finally {
    await limiter.close();
  }
}

/** The id of what is reserved first, after its change. */
async function reserved(limiter, url, { reserve, change, rules }) {
  const by = change === 'prefix' ? await RateLimiter.connect(url, { rules, prefix: 'other' }) : limiter;
  const { id } = await by.reserveAll(reserve.map(item));
  if (by !== limiter) await by.close();
  if (change === 'cut') return id.slice(0, -1);
  const middle = id.length >> 1;
  return change === 'altered' ? id.slice(0, middle) + (id[middle] === 'A' ? 'B' : 'A') + id.slice(middle + 1) : id;
}
