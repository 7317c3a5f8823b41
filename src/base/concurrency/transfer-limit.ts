import type { Readable } from 'node:stream';
import { unavailable } from '../errors';
import {
  ConcurrencyLimit,
  type ConcurrencyLimitOptions,
  type EvictionRules,
  type PermitRequest,
  type Release,
} from './concurrency-limit';
import type { Peer } from './stall-detector';
import { Throughput } from './throughput';

/** A request for the permit of a transfer with a client. */
export interface TransferRequest extends Pick<
  PermitRequest,
  'holder' | 'group' | 'isLarge' | 'waitedMilliseconds' | 'refusal'
> {
  client: Peer;
}

/** How long transfers wait, and when others are evicted for them. */
export const transferRules: EvictionRules & { sampleMilliseconds: number; lookMilliseconds: number } = {
  /** Shorter than the timeouts of most clients and proxies. */
  waitMilliseconds: 30_000,
  patienceMilliseconds: 5_000,
  /** Half a megabit per second. The clients of a partner on the slowest lines in use are faster. */
  slowBytesPerSecond: 64 * 1024,
  /** Interval of measuring the speed of a transfer. */
  sampleMilliseconds: 1_000,
  /** Interval of looking for room while there are waiters. */
  lookMilliseconds: 1_000,
};

/** Maximum number of waiters per kind of transfer: each has at most 200 kB of received data in its buffers. */
export const waitingTransfersMax = 256;

/** Maximum concurrent downloads of raw files and of products, per process: each occupies a file, or a connection to S3. */
export const concurrentDownloadsMax = 16;

/** A download was aborted for another holder. */
export class TransferEvicted extends Error {
  constructor() {
    super('The transfer was aborted for another caller.');
  }
}

/** Limits concurrent uploads or downloads. Others wait; slow transfers, and transfers of callers with several, are evicted for them. */
export class TransferLimit {
  private readonly limit: ConcurrencyLimit;
  private looking: NodeJS.Timeout | undefined;

  constructor(options: Omit<ConcurrencyLimitOptions, 'maxWaiting'>) {
    this.limit = new ConcurrencyLimit({ ...options, maxWaiting: waitingTransfersMax });
  }

  /**
   * Runs `work` with a permit, after a wait of at most `waitMilliseconds`.
   * @param evict - aborts the transfer
   * @throws unavailable; errors of `work`
   */
  async run<T>(request: TransferRequest, evict: () => void, work: () => Promise<T>): Promise<T> {
    const release = await this.acquire(request, evict);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Opens a stream after a wait as in `run`; closing it releases the permit. @throws unavailable; errors of `open` */
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

  private async acquire({ client, ...request }: TransferRequest, evict: () => void): Promise<Release> {
    const throughput = new Throughput(client, transferRules.sampleMilliseconds);
    const eviction = { evict, bytesPerSecond: () => throughput.bytesPerSecond() };
    const permit = this.limit.acquire({ ...request, eviction });
    this.lookForRoom();
    const release = await permit;
    throughput.start();
    return () => {
      throughput.stop();
      release();
    };
  }

  private lookForRoom(): void {
    this.looking ??= setInterval(() => {
      this.limit.makeRoom(transferRules);
      if (this.limit.use().waiting > 0) return;
      clearInterval(this.looking);
      this.looking = undefined;
    }, transferRules.lookMilliseconds).unref();
  }
}
