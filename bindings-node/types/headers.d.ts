/**
 * Refuses a style that there is not.
 *
 * @param {HeaderStyle} style
 */
export function ensureStyle(style: HeaderStyle): void;
/**
 * The headers of the answer to the request that was decided on, names and values, with `Retry-After` on a denial
 * unless the cost can never fit. Rules in shadow are not mentioned, and without a rule that applied there are no
 * headers. `response.set` of Express and `reply.headers` of Fastify take them.
 *
 * @param {Decision} decision
 * @param {HeaderStyle} [style]
 * @returns {Record<string, string>}
 */
export function headers(decision: Decision, style?: HeaderStyle): Record<string, string>;
import type { HeaderStyle } from './index.js';
import type { Decision } from './index.js';
