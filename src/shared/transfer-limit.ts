import type { Readable } from 'node:stream';
import { unavailable } from './errors';
import {
  ConcurrencyLimit,
  type ConcurrencyLimitOptions,
  type PermitRequest,
  type Release,
} from './concurrency-limit';
import { Throughput } from './throughput';

/** A request for the permit of a transfer. `bytes` returns the bytes transferred; Infinity at the end. */
interface TransferRequest extends Pick<PermitRequest, 'holder' | 'group'> {
  bytes: () => number;
}

/** Maximum wait of an upload in progress, which not every client can retry. */
const waitMilliseconds = 5_000;

/** Maximum concurrent downloads of raw files and of products, per process: each occupies a file, or a connection to S3. */
export const concurrentDownloadsMax = 16;

/** A download was aborted for another holder. */
export class TransferEvicted extends Error {
  constructor() {
    super('The transfer was aborted for another caller.');
  }
}

/** Limits the uploads or downloads in progress; the slowest are evicted first. */
export class TransferLimit {
  private readonly limit: ConcurrencyLimit;

  constructor(options: ConcurrencyLimitOptions) {
    this.limit = new ConcurrencyLimit(options);
  }

  /** @throws unavailable when no holder of the group would get a permit now */
  requireRoom(group: string): void {
    this.limit.requireRoom(group);
  }

  /**
   * Runs `work` with a permit, with a wait of at most `waitMilliseconds`; a holder with its share is rejected at once.
   * @param evict - aborts the transfer
   * @throws unavailable; errors of `work`
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

  /** Opens a stream, which releases its permit when it is closed. @throws unavailable; errors of `open` */
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
