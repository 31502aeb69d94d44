export * from './fetch.js';
