'use strict';

// The address of the client, who may be behind proxies.

const { isIP } = require('node:net');

/** Some proxies add a port, or write IPv6 in brackets. */
const DECORATED = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/;

/** The address that the outermost of the trusted proxies was called from, or else the peer's. */
function clientAddress(request, trustedProxies) {
  // Node joins several lines.
  const forwarded = request.headers['x-forwarded-for'] ?? '';
  return nthFromRight(forwarded.split(','), trustedProxies) ?? address(request.socket.remoteAddress ?? '');
}

/** Each proxy adds the address it was called from on the right; further left is the client's own word. */
function nthFromRight(addresses, trustedProxies) {
  const trusted = trustedProxies > 0 && addresses.at(-trustedProxies);
  return trusted ? address(trusted.trim()) : undefined;
}

function address(text) {
  const [, six, four] = DECORATED.exec(text) ?? [];
  // A link-local address may have a zone, which is this machine's name for the network.
  const [plain] = (six ?? four ?? text).split('%');
  return isIP(plain) ? plain : undefined;
}

module.exports = { clientAddress };
