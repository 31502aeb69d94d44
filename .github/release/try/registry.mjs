// registry.mjs FOLDER: a registry of the npm packages whose tarballs are in a folder, and of nothing else. Where the
// package of JavaScript asks for one of another platform, an empty one is offered. Prints its address.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = process.argv[2];
const platforms = JSON.parse(readFileSync(new URL('../platforms.json', import.meta.url), 'utf8'));
const packages = new Map();

function add(tarball) {
  const manifest = JSON.parse(execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' }));
  packages.set(manifest.name, { manifest, content: readFileSync(tarball) });
}

/** A package of a platform that was not built here, of which no more than the manifest is true. */
function empty({ name, os, cpu, libc }, version) {
  const place = mkdtempSync(join(tmpdir(), 'sluicegate-'));
  mkdirSync(join(place, 'package'));
  const manifest = { name: `@sluicegate/${name}`, version, os: [os], cpu: [cpu], ...(libc && { libc: [libc] }) };
  writeFileSync(join(place, 'package/package.json'), JSON.stringify(manifest));
  execFileSync('tar', ['-czf', join(place, 'empty.tgz'), '-C', place, 'package']);
  return join(place, 'empty.tgz');
}

for (const name of readdirSync(folder)) if (name.endsWith('.tgz')) add(join(folder, name));
const { version } = packages.get('sluicegate').manifest;
for (const platform of platforms) {
  if (!packages.has(`@sluicegate/${platform.name}`)) add(empty(platform, version));
}

function document({ manifest, content }, address) {
  const integrity = `sha512-${createHash('sha512').update(content).digest('base64')}`;
  const shasum = createHash('sha1').update(content).digest('hex');
  const dist = { tarball: `${address}/${encodeURIComponent(manifest.name)}/-/package.tgz`, integrity, shasum };
  const { name } = manifest;
  const time = { created: '2020-01-01T00:00:00.000Z', [manifest.version]: '2020-01-01T00:00:00.000Z' };
  return { name, time, 'dist-tags': { latest: manifest.version }, versions: { [manifest.version]: { ...manifest, dist } } };
}

const server = createServer((request, response) => {
  const [name, isTarball] = decodeURIComponent(request.url).slice(1).split('?')[0].split(/\/-\/(.*)/s);
  const found = packages.get(name);
  response.statusCode = found ? 200 : 404;
  if (found && isTarball) return response.end(found.content);
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(found ? document(found, `http://127.0.0.1:${server.address().port}`) : { error: 'not found' }));
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
