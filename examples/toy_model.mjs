// A toy provider of a language model: it streams an answer as lines of JSON, and says what each line cost.
//
//     node examples/toy_model.mjs
//     curl -N -X POST "http://localhost:8100/complete?words=500"

import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const WORDS_A_LINE = 25;

/** A server of answers of `words` words, a line of 25 a second. One word is one token. */
export function toyModel(pause = sleep) {
  return createServer(async (request, response) => {
    const words = Number(new URL(request.url, 'http://model').searchParams.get('words') ?? 20);
    response.writeHead(200, { 'Content-Type': 'application/jsonl' }).flushHeaders();
    for (let sent = 0; sent < words && !response.closed; sent += WORDS_A_LINE) {
      await pause(1_000);
      const tokens = Math.min(WORDS_A_LINE, words - sent);
      const text = Array.from({ length: tokens }, (_, place) => `word${sent + place} `).join('');
      response.write(`${JSON.stringify({ text, tokens })}\n`);
    }
    response.end();
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = toyModel().listen(process.env.PORT ?? 8100);
  await once(server, 'listening');
  console.log(`the model listens on http://localhost:${server.address().port}`);
}
