export * from './hono.js';
