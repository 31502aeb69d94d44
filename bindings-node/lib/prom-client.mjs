import registering from './prom-client.js';

export const { registerMetrics } = registering;
