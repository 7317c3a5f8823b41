/** The minimum throughput of a client that sends a body, and of the object store. The slowest lines in use have more. */
export const bytesPerSecondMin = 1024;

/** The peer of a connection. */
export interface Peer {
  /** How many bytes it has sent, or taken, so far. */
  bytes: () => number;
  /** Whether this side waits for the peer now. */
  isAwaited: () => boolean;
  /** Whether the connection has ended; so does the detection then. */
  isGone: () => boolean;
}

/** What the peer must transfer: `bytesMin` in each window of so many milliseconds in which this side waits for it. */
interface MinimumThroughput {
  bytesMin: number;
  milliseconds: number;
}

const samplesPerWindow = 10;

/**
 * Detects a peer below the minimum throughput: it would occupy its resources for ever.
 * @param onStall - called once
 * @returns ends the detection
 */
export function detectStall(
  peer: Peer,
  { bytesMin, milliseconds }: MinimumThroughput,
  onStall: () => void,
): () => void {
  let samples = [peer.bytes()];
  const timer = setInterval(() => {
    if (peer.isGone()) {
      clearInterval(timer);
      return;
    }
    const bytes = peer.bytes();
    if (!peer.isAwaited()) samples = [];
    samples.push(bytes);
    if (samples.length <= samplesPerWindow) return;
    if (bytes - samples.shift()! >= bytesMin) return;
    clearInterval(timer);
    onStall();
  }, milliseconds / samplesPerWindow);
  timer.unref();
  return () => clearInterval(timer);
}

/** The minimum throughput of a sender. */
export function minimumThroughput(milliseconds: number): MinimumThroughput {
  return { bytesMin: (bytesPerSecondMin * milliseconds) / 1000, milliseconds };
}
