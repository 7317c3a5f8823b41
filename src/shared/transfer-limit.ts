import type { Readable } from 'node:stream';
import { unavailable } from './errors';
import {
  ConcurrencyLimit,
  type ConcurrencyLimitOptions,
  type PermitRequest,
  type Release,
} from './concurrency-limit';
import { Throughput } from './throughput';

/** A transfer that wants a permit: whose it is, and how many bytes have been transferred; Infinity when all have. */
interface TransferRequest extends Pick<PermitRequest, 'holder' | 'group'> {
  bytes: () => number;
}

/** An upload that has begun cannot be sent again by every client; the place that it waits for may be free in a moment. */
const waitMilliseconds = 5_000;

/** Why the stream of a download ends early: its permit was needed for another holder. */
export class TransferEvicted extends Error {
  constructor() {
    super('The transfer was ended for another caller.');
  }
}

/** Limits how many uploads or downloads are in progress at a time; the slowest are evicted first. */
export class TransferLimit {
  private readonly limit: ConcurrencyLimit;

  constructor(options: ConcurrencyLimitOptions) {
    this.limit = new ConcurrencyLimit(options);
  }

  /** Refuses where no holder of the group would get a permit now. @throws unavailable */
  requireRoom(group: string): void {
    this.limit.requireRoom(group);
  }

  /**
   * Does `work` with a permit, for which it waits `waitMilliseconds` at most; a holder that has its share is refused at once.
   * @param evict - aborts the transfer
   * @throws unavailable; whatever `work` throws
   */
  async run<T>(request: TransferRequest, evict: () => void, work: () => Promise<T>): Promise<T> {
    this.limit.requireShare(request.holder);
    const release = await this.acquire(request, evict, AbortSignal.timeout(waitMilliseconds));
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Opens a stream with a permit that lasts until it is closed. @throws unavailable; whatever `open` throws */
  async open(request: TransferRequest, open: () => Promise<Readable>): Promise<Readable> {
    let stream: Readable | undefined;
    const evicted = new AbortController();
    evicted.signal.addEventListener('abort', () => stream?.destroy(new TransferEvicted()));
    const release = await this.acquire(request, () => evicted.abort());
    try {
      stream = await open();
    } catch (error) {
      release();
      throw error;
    }
    stream.once('close', release);
    if (!evicted.signal.aborted) return stream;
    stream.destroy();
    throw unavailable(new TransferEvicted());
  }

  private async acquire(
    { bytes, ...request }: TransferRequest,
    evict: () => void,
    signal?: AbortSignal,
  ): Promise<Release> {
    const throughput = new Throughput(bytes);
    const eviction = { evict, progress: () => throughput.bytesPerSecond() };
    try {
      const release = await this.limit.acquire({ ...request, eviction, signal });
      return () => {
        throughput.stop();
        release();
      };
    } catch (error) {
      throughput.stop();
      throw signal?.aborted ? unavailable(error) : error;
    }
  }
}
