import { useSyncExternalStore } from 'react';
import { relativeTime, time } from '../locale';

const everyMilliseconds = 15_000;
const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  now = Date.now();
  listeners.forEach((listener) => listener());
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, everyMilliseconds);
  if (Date.now() - now > everyMilliseconds) tick();
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Returns the time, and renders the component again while it passes. */
const useNow = () => useSyncExternalStore(subscribe, () => now);

/** Shows a time as seen from now, with the exact one on hover. Shows nothing without a time. @param at - ISO 8601 */
export function Time({ at }: { at: string | null | undefined }) {
  const current = useNow();
  if (!at) return null;
  return (
    <time dateTime={at} title={time(at)} className="tight">
      {relativeTime(at, current)}
    </time>
  );
}
