/** Minimum throughput of a client that sends a body, and of the object store; the slowest lines in use are faster. */
export const bytesPerSecondMin = 1024;

export interface Peer {
  bytes: () => number;
  isAwaited: () => boolean;
  /** Whether the connection has ended, and with it the detection. */
  isGone: () => boolean;
}

/** The peer must transfer `bytesMin` in each window of `milliseconds` in which this side waits. */
interface MinimumThroughput {
  bytesMin: number;
  milliseconds: number;
}

const samplesPerWindow = 10;

/**
 * Detects a peer below the minimum throughput, which would occupy its resources forever.
 *
 * It samples with a plain interval instead of a periodic task, since it starts with each connection and body.
 * @param onStall - called once
 * @returns stops the detection
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

export function minimumThroughput(
  milliseconds: number,
  bytesPerSecond: number = bytesPerSecondMin,
): MinimumThroughput {
  return { bytesMin: (bytesPerSecond * milliseconds) / 1000, milliseconds };
}
