'use strict';

// The conformance vectors of tests/vectors, whose README describes them, on every backend.

const assert = require('node:assert/strict');
const { readdirSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const { after, before, test } = require('node:test');
const { inspect } = require('node:util');
const { ManualClock, RateLimiter } = require('sluicegate');
const { make } = require('./calls.js');
const { start } = require('./servers.js');

const folder = process.env.SLUICEGATE_VECTORS ?? join(__dirname, '../../tests/vectors');
const vectors = ['', 'reservations', 'blocks', 'stored_limits', 'request_ids', 'mixed', 'waiting', 'overview']
  .flatMap((part) => readdirSync(join(folder, part)).map((name) => join(part, name)))
  .filter((name) => name.endsWith('.json') && name !== 'schema.json')
  .sort()
  .flatMap((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')).vectors);

/** So many vectors are under way at once. */
const TOGETHER = 16;

let servers;
before(async () => (servers = await start('redis', 'cluster')));
after(() => servers.stop());

for (const backend of ['memory', 'redis', 'cluster']) {
  test(`vectors (${backend})`, async () => {
    const url = backend === 'memory' ? 'memory://' : servers[backend];
    const left = [...vectors];
    const failed = [];
    const play = async () => {
      for (let vector; (vector = left.shift()); ) {
        await run(url, vector).catch((error) => failed.push(`${vector.id}: ${error.message}`));
      }
    };
    await Promise.all(Array.from({ length: TOGETHER }, play));
    const passed = vectors.length - failed.length;
    console.log(`vectors: Node, ${backend}: ${passed} passed, ${failed.length} failed, 0 skipped`);
    assert.equal(failed.join('\n'), '');
    assert.ok(vectors.length > 100);
  });
}

async function run(url, { id, rules, steps }) {
  const clock = new ManualClock();
  const limiter = await RateLimiter.connect(url, { rules, clock, prefix: `node/${id}` });
  const made = {};
  for (const step of steps) {
    clock.set(step.at_us);
    const answer = await act(limiter, step, made);
    assert.deepEqual(answer, expected(step.expect), `${JSON.stringify(step)} answered ${inspect(answer)}`);
  }
  await limiter.close();
}

/** Reservations are kept in `made` by the names that the vector gives them. */
async function act(limiter, step, made) {
  try {
    const call = step.reservation === undefined ? step : { ...step, reservation: given(made[step.reservation]) };
    const answer = await make(limiter, call);
    if (typeof answer === 'boolean') return { took_effect: answer };
    if (step.op === 'rules') return { rules: answer };
    const withParts = 'items' in step || step.op === 'inspect' || step.op === 'reserve_request';
    if (step.as === undefined) return answer === undefined ? {} : seen(answer, withParts);
    made[step.as] = answer;
    const { id, token, ...decision } = answer;
    const held = { id: id !== undefined, ...(token === undefined ? {} : { token }) };
    return { ...seen(decision, withParts), ...held };
  } catch (error) {
    if (error.code === undefined) throw error;
    return { error: error.code };
  }
}

/** By itself, or by its id: what is made of one has to be what is made of the other. */
function given(reservation) {
  return reservation.id === undefined || reservation.id.length % 2 === 1 ? reservation : reservation.id;
}

/** What the vectors tell of a decision. */
function seen({ source, windowMs, ruleApplied, shadow, blocked, replicated, parts, ...others }, withParts = false) {
  if (!ruleApplied) return { allowed: others.allowed, rule_applied: false };
  const figures = blocked ? { ...others, blocked } : others;
  return withParts ? { ...figures, parts: parts.map((part) => seen(part)) } : figures;
}

/** The names and units of this language. */
function expected({ retry_after_us, reset_after_us, shadow_denied, parts, ...same }) {
  if (same.allowed === undefined || same.rule_applied === false) return same;
  const decision = {
    ...same,
    retryAfterMs: retry_after_us === 'never' ? Infinity : retry_after_us / 1000,
    resetAfterMs: reset_after_us / 1000,
    shadowDenied: shadow_denied,
  };
  return parts === undefined ? decision : { ...decision, parts: parts.map(expected) };
}
