import store from './fastify-rate-limit.js';

export const { sluicegateStore } = store;
