'use strict';

// Real servers for one test file: started by the program of tests/servers, gone when the tests end.

const { spawn } = require('node:child_process');
const { createInterface } = require('node:readline');
const { once } = require('node:events');
const { after, before } = require('node:test');

/**
 * Starts servers of these kinds, and returns their URLs with `stop()` and `order(...words)`, which has something
 * done to ZooKeeper. test/run names the program.
 */
async function start(...kinds) {
  const program = process.env.SLUICEGATE_TEST_SERVERS;
  if (!program) throw new Error('SLUICEGATE_TEST_SERVERS is not set; test/run sets it');
  const child = spawn(program, ['start', ...kinds], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, 'exit');
  const answer = async () => {
    const [line] = await Promise.race([
      once(lines, 'line'),
      ended.then(([status]) => Promise.reject(new Error(`${program} ended with status ${status}`))),
    ]);
    return JSON.parse(line);
  };
  const order = async (...words) => {
    child.stdin.write(`${JSON.stringify(words)}\n`);
    const { error } = await answer();
    if (error) throw new Error(`${words}: ${error}`);
  };
  const stop = async () => {
    child.stdin.end();
    await ended;
  };
  return { ...(await answer()), order, stop };
}

/**
 * A Redis for the tests of one file: returns a function that answers options with its URL, and a prefix that no other test has. On a busy
 * machine it has its time: what is not answered would be admitted.
 */
function redisFor(file) {
  let servers;
  let prefixes = 0;
  before(async () => (servers = await start('redis')));
  after(() => servers.stop());
  return () => ({ url: servers.redis, prefix: `${file}${prefixes++}`, responseTimeoutMs: 30_000 });
}

module.exports = { redisFor, start };
