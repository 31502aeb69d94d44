export * from './koa.js';
