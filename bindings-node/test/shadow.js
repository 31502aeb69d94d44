'use strict';

// A program whose second request a rule in shadow would deny.

const { once } = require('node:events');
const { createServer } = require('node:http');
const { RateLimiter } = require('sluicegate');
const { rateLimit } = require('sluicegate/express');
const { rule } = require('./frameworks.js');
const { ask } = require('./http.js');

(async () => {
  const rules = [rule('tried', 'global', {}, { limit: 1, shadow: true })];
  const limit = rateLimit(await RateLimiter.connect('memory://', { rules }));
  const server = createServer((request, response) => limit(request, response, () => response.end())).listen(0, '127.0.0.1');
  await once(server, 'listening');
  for (let number = 0; number < 2; number++) await ask(server.address().port, '/');
  server.close();
})();
