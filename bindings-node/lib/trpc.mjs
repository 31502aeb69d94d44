import limits from './trpc.js';

export const { routeLimits } = limits;
