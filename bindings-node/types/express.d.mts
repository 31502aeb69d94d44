export * from './express.js';
