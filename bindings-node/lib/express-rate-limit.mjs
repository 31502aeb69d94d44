import store from './express-rate-limit.js';

export const { SluicegateStore } = store;
