'use strict';

// User and password of new connections, as a function of the caller gives them.

const { wrongType } = require('./arguments.js');
const { NativeCredentials } = require('./native.js');

// More than this of a name is not repeated in a message.
const SHOWN_CHARS = 64;

/**
 * A password, or a user and a password.
 *
 * @typedef {string | { readonly user?: string | undefined, readonly password: string }} Credentials
 */

/**
 * Gives user and password for each new connection.
 *
 * @typedef {() => Credentials | Promise<Credentials>} CredentialsProvider
 */

/**
 * The function as the native part has it.
 *
 * @param {string} name
 * @param {unknown} provider
 * @returns {object}
 */
function credentials(name, provider) {
  if (typeof provider !== 'function') throw wrongType(name, 'a function', provider);
  const native = new NativeCredentials(() => {
    for (const number of native.take()) answer(native, number, provider);
  });
  return native;
}

/**
 * Whatever the function does, whoever asked hears of it.
 *
 * @param {{ give: Function, refuse: Function }} native
 * @param {number} number
 * @param {Function} provider
 */
async function answer(native, number, provider) {
  try {
    const { user, password } = parts(await provider());
    if (typeof password === 'string' && (user === undefined || typeof user === 'string')) native.give(number, user, password);
    else native.refuse(number, '`credentials` must return a password, or an object with user and password');
  } catch (error) {
    // Its text may have secrets.
    native.refuse(number, `\`credentials\` threw ${kindOf(error)}`);
  }
}

/**
 * What the function has given; to read its properties may throw.
 *
 * @param {any} given
 * @returns {{ user?: unknown, password?: unknown }}
 */
function parts(given) {
  return typeof given === 'string' ? { password: given } : (given ?? {});
}

/** @param {unknown} error */
function kindOf(error) {
  try {
    return error instanceof Error ? shortened(String(error.name)) : typeof error;
  } catch {
    // Its name cannot be read.
    return 'Error';
  }
}

/** @param {string} name */
function shortened(name) {
  return name.length > SHOWN_CHARS ? `${name.slice(0, SHOWN_CHARS - 1)}…` : name;
}

module.exports = { credentials };
