import outgoing from './fetch.js';

export const { RateLimited, limitedFetch } = outgoing;
