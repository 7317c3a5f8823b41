import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { DatabaseAddress } from '../../src/base/db/database';
import { afterFile } from './harness';
import { connectTo, databaseUrl, serviceWay } from './databases';

/** A call of a client to the server: a new connection, a statement, or a chunk of a COPY. */
export interface DatabaseCall {
  kind: 'connect' | 'statement' | 'copy data';
  /** The statement; empty for other kinds. */
  sql: string;
  applicationName: string;
  /** The earlier statements of its transaction. */
  transaction: readonly string[];
}

/**
 * The fate of a call. It passes; the connection is cut before the server receives it (`lose`), or after the server has executed
 * it and before the client gets the response (`lose answer`).
 */
export type Fate = 'pass' | 'lose' | 'lose answer';

/** A call that is held: before the server receives it, or its response after the execution. */
export interface HeldCall {
  reached: Promise<void>;
  release: () => void;
}

const typeOf = { query: 0x51, parse: 0x50, copyData: 0x64 };
/** Messages of the server: authentication requested or granted, ready for query, ready for COPY. */
const answerEnds = new Set([0x5a, 0x47]);
const startupHeadBytes = 8;

/**
 * A proxy for PostgreSQL that parses as much of the protocol as necessary to distinguish calls. A test can cut the connection or
 * hold traffic at exactly one call.
 */
export class PostgresProxy {
  /** Decides on every call; a promise holds the call. */
  onCall: (call: DatabaseCall) => Fate | Promise<Fate> = () => 'pass';
  private readonly lines = new Set<Line>();
  private readonly held: { matches: (call: DatabaseCall) => boolean; what: 'call' | 'answer'; hold: Hold }[] =
    [];

  private constructor(
    readonly address: DatabaseAddress,
    private readonly target: DatabaseAddress,
  ) {}

  /** Opens it before a server. It is closed after the file. */
  static async to(address: DatabaseAddress): Promise<PostgresProxy> {
    const { host, port, ...rest } = serviceWay(address);
    const server = createServer((near) => proxy.accept(near));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const near = (server.address() as AddressInfo).port;
    const proxy = new PostgresProxy({ host: '127.0.0.1', port: near, ...rest }, { host, port });
    afterFile(async () => {
      proxy.cutAll();
      await new Promise((resolve) => server.close(resolve));
    });
    return proxy;
  }

  get url(): string {
    return databaseUrl(this.address);
  }

  /** Holds the first call that matches, or its response. */
  hold(matches: (call: DatabaseCall) => boolean, what: 'call' | 'answer' = 'call'): HeldCall {
    const hold = new Hold();
    this.held.push({ matches, what, hold });
    return hold;
  }

  cutAll(): void {
    for (const line of this.lines) line.cut();
  }

  /** Closes every connection like a server that stops. @returns when the clients have noticed */
  async hangUp(): Promise<void> {
    await Promise.all([...this.lines].map((line) => line.hangUp()));
  }

  private accept(near: Socket): void {
    const far = connectTo(this.target);
    const line: Line = new Line(near, far, (call) => this.decide(call));
    this.lines.add(line);
    near.on('close', () => this.lines.delete(line));
  }

  private async decide(call: DatabaseCall): Promise<{ fate: Fate; answerHold?: Hold }> {
    const fate = await this.onCall(call);
    const index = this.held.findIndex(({ matches }) => matches(call));
    if (index === -1) return { fate };
    const [{ what, hold }] = this.held.splice(index, 1) as [(typeof this.held)[number]];
    if (what === 'answer') return { fate, answerHold: hold };
    hold.markReached();
    await hold.released;
    return { fate };
  }
}

class Hold implements HeldCall {
  markReached!: () => void;
  release!: () => void;
  readonly reached = new Promise<void>((resolve) => (this.markReached = resolve));
  readonly released = new Promise<void>((resolve) => (this.release = resolve));
}

type Decide = (call: DatabaseCall) => Promise<{ fate: Fate; answerHold?: Hold }>;

/** One connection. The data of a client waits for the decision on earlier calls. */
class Line {
  private readonly fromClient = new Frames(true);
  private readonly fromServer = new Frames(false);
  private applicationName = '';
  /** The statements since the last `begin`. */
  private transaction: string[] = [];
  private work: Promise<void> = Promise.resolve();
  /** The fate of the response to the last call. */
  private answer: { lost: boolean; hold?: Hold } | undefined;
  private withheld: Buffer[] = [];

  constructor(
    private readonly near: Socket,
    private readonly far: Socket,
    private readonly decide: Decide,
  ) {
    for (const socket of [near, far]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => this.cut());
    }
    near.on('data', (bytes) => {
      for (const frame of this.fromClient.take(bytes)) this.work = this.work.then(() => this.pass(frame));
    });
    far.on('data', (bytes) => this.giveBack(bytes));
  }

  cut(): void {
    this.near.destroy();
    this.far.destroy();
  }

  /** The client closes its side after it has seen the end of this side. */
  hangUp(): Promise<void> {
    return new Promise((resolve) => {
      this.near.on('close', () => resolve());
      this.near.end();
      this.far.removeAllListeners('close').destroy();
    });
  }

  private async pass(frame: Frame): Promise<void> {
    const call = this.callOf(frame);
    if (call) {
      const { fate, answerHold } = await this.decide(call);
      if (fate === 'lose') return this.cut();
      if (fate === 'lose answer' || answerHold)
        this.answer = { lost: fate === 'lose answer', hold: answerHold };
    }
    if (this.near.destroyed) return;
    this.far.write(frame.bytes);
    // The server has nothing to send for it.
    if (call?.kind === 'copy data' && this.answer?.lost) this.cut();
  }

  private giveBack(bytes: Buffer): void {
    const { answer } = this;
    const ended = this.fromServer.take(bytes).some(({ type }) => answerEnds.has(type));
    if (!answer) this.near.write(bytes);
    else if (!answer.lost) this.withheld.push(bytes);
    if (!answer || !ended) return;
    if (answer.lost) return this.cut();
    answer.hold!.markReached();
    void answer.hold!.released.then(() => {
      this.answer = undefined;
      for (const part of this.withheld.splice(0)) this.near.write(part);
    });
  }

  private callOf({ type, body }: Frame): DatabaseCall | undefined {
    if (type === 0) {
      const words = body.subarray(4).toString().split('\0');
      this.applicationName = words[words.indexOf('application_name') + 1]!;
      return this.describe('connect', '');
    }
    if (type === typeOf.copyData) return this.describe('copy data', '');
    if (type !== typeOf.query && type !== typeOf.parse) return undefined;
    const sql = textAt(body, type === typeOf.query ? 0 : body.indexOf(0) + 1);
    if (sql.toLowerCase().startsWith('begin')) this.transaction = [];
    const call = this.describe('statement', sql);
    this.transaction = [...this.transaction, sql];
    return call;
  }

  private describe(kind: DatabaseCall['kind'], sql: string): DatabaseCall {
    return { kind, sql, applicationName: this.applicationName, transaction: this.transaction };
  }
}

function textAt(body: Buffer, start: number): string {
  return body.toString('utf8', start, body.indexOf(0, start));
}

/** A message of the protocol. The first one of a client has no type: 0. */
interface Frame {
  type: number;
  /** The whole message, and the part after its length. */
  bytes: Buffer;
  body: Buffer;
}

class Frames {
  private rest: Buffer = Buffer.alloc(0);

  constructor(private startsUntyped: boolean) {}

  take(bytes: Buffer): Frame[] {
    this.rest = Buffer.concat([this.rest, bytes]);
    const frames: Frame[] = [];
    for (;;) {
      const typeBytes = this.startsUntyped ? 0 : 1;
      if (this.rest.length < Math.max(typeBytes + 4, this.startsUntyped ? startupHeadBytes : 0))
        return frames;
      const length = typeBytes + this.rest.readUInt32BE(typeBytes);
      if (this.rest.length < length) return frames;
      const whole = this.rest.subarray(0, length);
      this.rest = this.rest.subarray(length);
      frames.push({
        type: typeBytes === 0 ? 0 : whole[0]!,
        bytes: whole,
        body: whole.subarray(typeBytes + 4),
      });
      this.startsUntyped = false;
    }
  }
}
