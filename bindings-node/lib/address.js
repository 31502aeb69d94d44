'use strict';

const { addressKeyOf } = require('./arguments.js');

/**
 * The key of the client with an address, for rules whose `identifier_type` is not `ip_address`. An IPv6 address is cut to
 * its network of `prefixLength` bits, from 1 to 128, since one client has all addresses of it. An IPv4 address written as
 * an IPv6 one is an IPv4 address. A port, brackets and a zone are left out. Throws `InvalidArgument` for what is not an
 * address.
 *
 * @param {string} ip
 * @param {number} [prefixLength]
 * @returns {string}
 */
function addressKey(ip, prefixLength = 64) {
  return addressKeyOf(ip, prefixLength);
}

module.exports = { addressKey };
