import { useEffect, useState } from 'react';

const pauseMilliseconds = 250;

/** Returns the value once it has not changed for a moment: a search waits for the end of a word. */
export function useDeferred<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pauseMilliseconds);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
