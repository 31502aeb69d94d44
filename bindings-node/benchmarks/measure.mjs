// How a slice of a contender's time is measured.

/** Calls one after the other for so long: the time of each, in microseconds, sorted. */
export async function oneByOne(check, keys, ms) {
  const times = [];
  const end = performance.now() + ms;
  for (let at = 0, now = performance.now(); now < end; at++) {
    await check(keys[at % keys.length]);
    const later = performance.now();
    times.push((later - now) * 1000);
    now = later;
  }
  return times.sort((a, b) => a - b);
}

/** So many calls in flight for so long: how many a second, and what each costs this process in CPU time. */
export async function together(check, keys, inFlight, ms) {
  let done = 0;
  const cpu = process.cpuUsage();
  const began = performance.now();
  const end = began + ms;
  const caller = async () => {
    while (performance.now() < end) {
      await check(keys[done++ % keys.length]);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { done, perSecond: done / seconds, cpuUs: (user + system) / done };
}

/** How many calls are made between two looks at the clock. */
const STRIDE = 20;

/** Calls one after the other, too short to be timed one by one: how many a second, and what each costs. */
export async function inStrides(check, ms) {
  let done = 0;
  const cpu = process.cpuUsage();
  const began = performance.now();
  const end = began + ms;
  while (performance.now() < end) {
    for (let call = 0; call < STRIDE; call++) await check();
    done += STRIDE;
  }
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { done, perSecond: done / seconds, cpuUs: (user + system) / done };
}

export function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

export function median(values) {
  return quantile([...values].sort((a, b) => a - b), 0.5);
}
