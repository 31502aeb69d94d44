export * from './express-rate-limit.js';
