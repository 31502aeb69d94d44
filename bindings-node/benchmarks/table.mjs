// Results as a Markdown table.

import { median } from './measure.mjs';

/** A row per contender; every figure is followed by its ratio to that of the first contender. */
export function table(results, columns) {
  const [reference] = results.values();
  const fields = Object.keys(columns);
  const head = ['', ...fields.flatMap((field) => [columns[field], 'ratio'])];
  const lines = [head, head.map(() => '---')];
  for (const [name, rounds] of results) {
    const cells = fields.flatMap((field) => {
      const ratios = rounds.map((round, at) => round[field] / reference[at][field]);
      return [figure(median(rounds.map((round) => round[field]))), median(ratios).toFixed(2)];
    });
    lines.push([name, ...cells]);
  }
  return `${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`;
}

function figure(value) {
  return value >= 1000 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}
