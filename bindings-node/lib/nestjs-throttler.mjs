import store from './nestjs-throttler.js';

export const { SluicegateThrottlerStorage } = store;
