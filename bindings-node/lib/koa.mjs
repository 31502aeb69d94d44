import limits from './koa.js';

export const { routeLimits } = limits;
