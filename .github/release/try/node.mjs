// What a user of the package would do first: a check, from both module systems and from a worker.

import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import * as esm from 'sluicegate';

const common = createRequire(import.meta.url)('sluicegate');
const [url, rules] = isMainThread ? process.argv.slice(2) : workerData;

for (const { RateLimiter } of [esm, common]) {
  const key = `${process.pid}-${Math.random()}`;
  const limiter = await RateLimiter.connect(url, { rules });
  const answers = [await limiter.check('a', key), await limiter.check('a', key)].map(({ allowed }) => allowed);
  if (answers.join() !== 'true,false') throw new Error(`${url}: ${answers}`);
  await limiter.close();
}

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url), { workerData: [url, rules] });
  await once(worker, 'message');
} else {
  parentPort.postMessage('done');
}
