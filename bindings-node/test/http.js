'use strict';

// Real HTTP for tests of middleware.

const { request } = require('node:http');
const { connect } = require('node:net');
const { once } = require('node:events');

/** Sends a request, and returns the status, headers and text of the answer. */
async function ask(port, path, { method = 'GET', body, ...options } = {}) {
  const asked = request({ host: '127.0.0.1', port, path, method, agent: false, ...options }).end(body);
  const [answer] = await once(asked, 'response');
  return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(await answer.toArray()).toString() };
}

/** Sends a request as bytes, which may be such as no library sends, and returns the whole answer. */
async function askRaw(port, bytes) {
  const socket = connect(port, '127.0.0.1');
  socket.end(bytes);
  return Buffer.concat(await socket.toArray()).toString();
}

module.exports = { ask, askRaw };
