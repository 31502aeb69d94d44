// A gateway for language models: requests, tokens and concurrency of each tenant, in one call.
//
// The cost of an answer is known only when it has been streamed. So the gateway reserves the most that it may cost, and
// afterwards charges what it did cost: of 60,000 tokens, 15 calls may hold 4,000 each, and a call that used 500 frees 3,500
// at once. If the gateway crashes, its reservations are held until their leases end.
//
//     npm install sluicegate express
//     node examples/toy_model.mjs &
//     node examples/language_models.mjs
//     curl -N -X POST -H "Authorization: Bearer acme" "http://localhost:8000/chat?max_tokens=4000&words=500"

import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import express from 'express';
import { RateLimiter } from 'sluicegate';

export const rules = fileURLToPath(new URL('language_models.jsonc', import.meta.url));

/** The application, in front of the model at this URL. */
export function gateway(limiter, model) {
  const app = express();
  app.post('/chat', async (request, response) => {
    // From the start, because a client may hang up before it is admitted.
    const hungUp = new AbortController();
    response.once('close', () => hungUp.abort());
    const wanted = parametersOf(request);
    if (!wanted) return response.status(400).json({ error: 'a tenant, and whole numbers of words and max_tokens' });
    const reservation = await limiter.reserveAll([
      { rule: 'requests', key: wanted.tenant },
      { rule: 'tokens', key: wanted.tenant, cost: wanted.maxTokens },
      { rule: 'in_flight', key: wanted.tenant },
    ]);
    if (!reservation.allowed) return refuse(response, reservation);
    await stream(`${model}/complete?words=${wanted.words}`, response, reservation, hungUp.signal);
  });
  return app;
}

function parametersOf({ headers, query }) {
  const tenant = headers.authorization?.replace(/^Bearer /, '');
  const maxTokens = Number(query.max_tokens ?? 4_000);
  const words = Number(query.words ?? 20);
  const isWhole = Number.isInteger(words) && Number.isInteger(maxTokens);
  const isUsable = isWhole && words >= 0 && maxTokens >= 1 && maxTokens <= 100_000;
  return tenant && isUsable ? { tenant, maxTokens, words: Math.min(words, maxTokens) } : undefined;
}

function refuse(response, { rule, retryAfterMs }) {
  const isForEver = retryAfterMs === Infinity;
  if (!isForEver) response.set('Retry-After', String(Math.ceil(retryAfterMs / 1_000)));
  response.status(isForEver ? 400 : 429).json({ error: `the limit of ${rule} is reached` });
}

/** Passes an answer on, and commits what it used: all of it, or what there was before the client hung up. */
async function stream(question, response, reservation, signal) {
  let used = 0;
  let failure;
  try {
    // Stops the model when the client closes the connection.
    const answer = await fetch(question, { method: 'POST', signal });
    if (!answer.ok) throw new Error(`the model answered ${answer.status}`);
    response.type('text/plain').flushHeaders();
    for await (const { text, tokens } of linesOf(answer)) {
      used += tokens;
      if (!response.write(text)) await once(response, 'drain', { signal });
    }
  } catch (error) {
    failure = error;
  }
  await reservation.commit({ tokens: used });
  if (!failure) response.end();
  else if (response.headersSent) response.destroy(); // so that nobody takes half an answer for a whole one
  else response.status(502).json({ error: 'the model did not answer' });
}

async function* linesOf({ body }) {
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // For several processes: redis://localhost/0.
  const limiter = await RateLimiter.connect(process.env.LIMITER_URL ?? 'memory://', { rules });
  const server = gateway(limiter, process.env.MODEL_URL ?? 'http://localhost:8100').listen(process.env.PORT ?? 8000);
  await once(server, 'listening');
  console.log(`listening on http://localhost:${server.address().port}`);
}
