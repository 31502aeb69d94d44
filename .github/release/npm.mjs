// npm.mjs PLATFORM LIBRARY FOLDER: packs the native part for a platform, and the package of JavaScript.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [wanted, library, out] = process.argv.slice(2);
const repository = fileURLToPath(new URL('../..', import.meta.url));
const source = join(repository, 'bindings-node');
const platforms = JSON.parse(readFileSync(new URL('platforms.json', import.meta.url), 'utf8'));
const manifest = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';

// The addresses are those of the Rust workspace.
const cargo = ['metadata', '--no-deps', '--format-version', '1'];
const metadata = JSON.parse(execFileSync('cargo', cargo, { cwd: repository, encoding: 'utf8', maxBuffer: Infinity }));
const { homepage, repository: url } = metadata.packages.find(({ name }) => name === 'sluicegate');

/** What the packages have in common. */
const shared = {
  version: manifest.version,
  author: manifest.author,
  license: manifest.license,
  homepage,
  repository: { type: 'git', url: `git+${url}.git`, directory: 'bindings-node' },
  bugs: `${url}/issues`,
};

/** Packs a manifest and files, and gives the path of the tarball. */
function pack(content, files) {
  const folder = mkdtempSync(join(tmpdir(), 'sluicegate-'));
  try {
    for (const [from, to] of [...files, ...licenses()]) cpSync(from, join(folder, to), { recursive: true });
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(content, null, 2)}\n`);
    const options = { cwd: folder, encoding: 'utf8', shell: process.platform === 'win32' };
    const [{ filename }] = Object.values(JSON.parse(execFileSync(npm, ['pack', '--json', '--pack-destination', out], options)));
    return join(out, filename.replace('@', '').replace('/', '-'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function licenses() {
  return ['LICENSE', 'LICENSE-APACHE', 'LICENSE-MIT'].map((name) => [join(repository, name), name]);
}

/** A copy of a page whose links to other files of the repository work far from it. */
function withLinks(page) {
  const text = readFileSync(page, 'utf8').replaceAll(/\]\((?:\.\.\/)+([^)]+)\)/g, `](${url}/blob/main/$1)`);
  return written(text);
}

/** A file of its own. */
function written(text) {
  const path = join(mkdtempSync(join(tmpdir(), 'sluicegate-')), 'README.md');
  writeFileSync(path, text);
  return path;
}

/** The package of one platform: a native part and nothing else. */
function packPlatform({ name, os, cpu, libc }) {
  const readme = written(
    `# @sluicegate/${name}\n\nThe native part of the package \`sluicegate\` for ${name}. Install \`sluicegate\`.\n`,
  );
  const content = {
    name: `@sluicegate/${name}`,
    description: `The native part of sluicegate for ${name}`,
    ...shared,
    main: 'sluicegate.node',
    files: ['sluicegate.node', 'LICENSE-*'],
    engines: manifest.engines,
    os: [os],
    cpu: [cpu],
    ...(libc && { libc: [libc] }),
    preferUnplugged: true,
    publishConfig: { access: 'public' },
  };
  return pack(content, [[library, 'sluicegate.node'], [readme, 'README.md']]);
}

/** The package of JavaScript. Only here it asks for the others: the repository needs none of them published. */
function packMain() {
  const { devDependencies, scripts, ...content } = manifest;
  const optionalDependencies = Object.fromEntries(platforms.map(({ name }) => [`@sluicegate/${name}`, manifest.version]));
  const files = ['bin', 'lib', 'types'].map((name) => [join(source, name), name]);
  files.push([withLinks(join(source, 'README.md')), 'README.md']);
  return pack({ ...content, ...shared, files: ['bin', 'lib', 'types', 'LICENSE-*'], optionalDependencies }, files);
}

mkdirSync(out, { recursive: true });
console.log(packPlatform(platforms.find(({ name }) => name === wanted)));
console.log(packMain());
