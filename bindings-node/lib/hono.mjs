import limits from './hono.js';

export const { routeLimits } = limits;
