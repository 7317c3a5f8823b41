/** The least pace of a client that sends a body, and of the object store. The slowest line that is in use has more. */
export const bytesPerSecondMin = 1024;

/** The other side of a connection, as we see it. */
export interface OtherSide {
  /** How many bytes it has sent, or taken, so far. */
  bytes: () => number;
  /** Whether we wait for it, rather than for something of our own. */
  keepsUsWaiting: () => boolean;
  /** Whether nothing can come of it any more: the watch ends by itself. */
  isGone: () => boolean;
}

/** How much it must move to be waited for on: `bytesMin` in each stretch of so many milliseconds in which we wait for it. */
export interface Pace {
  bytesMin: number;
  milliseconds: number;
}

const samplesPerStretch = 10;

/**
 * Watches the pace of the other side: one that is silent, or sends byte by byte, would hold what it has of ours for ever.
 * @param giveUp - called once, when it is too slow
 * @returns ends the watch
 */
export function watchPace(
  other: OtherSide,
  { bytesMin, milliseconds }: Pace,
  giveUp: () => void,
): () => void {
  let samples = [other.bytes()];
  const timer = setInterval(() => {
    if (other.isGone()) {
      clearInterval(timer);
      return;
    }
    const bytes = other.bytes();
    if (!other.keepsUsWaiting()) samples = [];
    samples.push(bytes);
    if (samples.length <= samplesPerStretch) return;
    if (bytes - samples.shift()! >= bytesMin) return;
    clearInterval(timer);
    giveUp();
  }, milliseconds / samplesPerStretch);
  timer.unref();
  return () => clearInterval(timer);
}

/** The pace of whoever sends us something. */
export function sendingPace(milliseconds: number): Pace {
  return { bytesMin: (bytesPerSecondMin * milliseconds) / 1000, milliseconds };
}
