// An API whose limits are the rules in orders.jsonc; edit them while it runs.
//
//     npm install sluicegate express
//     node examples/express_app.mjs
//     for i in 1 2 3 4 5 6; do curl -i -X POST http://localhost:8000/login; done

import { fileURLToPath } from 'node:url';
import express from 'express';
import { RateLimiter } from 'sluicegate';
import { rateLimit } from 'sluicegate/express';

// For several processes: redis://localhost/0.
const url = process.env.LIMITER_URL ?? 'memory://';
// Or zookeeper://localhost:2181/config/ratelimit/rules.
const rules = process.env.LIMITER_RULES ?? fileURLToPath(new URL('orders.jsonc', import.meta.url));

/** In place of authentication: `Authorization: Bearer alice` is alice. */
function userOf(request) {
  return request.headers.authorization?.replace(/^Bearer /, '');
}

const limiter = await RateLimiter.connect(url, { rules });
const app = express();
app.use(rateLimit(limiter, { userId: userOf, log: console.warn }));

app.get('/orders/:order', (request, response) => {
  response.json({ order: request.params.order, of: userOf(request) });
});

app.post('/login', (request, response) => {
  response.json({ token: 'alice' });
});

const server = app.listen(process.env.PORT ?? 8000, () => {
  console.log(`listening on http://localhost:${server.address().port}`);
});
