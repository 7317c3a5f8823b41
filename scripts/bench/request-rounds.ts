import type { LoadOrder, LoadResult } from './http-load';
import { drawRequests, isOrder, type DrawnCatalog, type RequestKind } from './request-kinds';
import { apiKey, type Watch } from './servers';

/** A server that is measured in turns with others. */
export interface Subject {
  port: number;
  watch: Watch;
  /** Kinds of requests that it does not support. */
  lacks?: (kind: RequestKind) => boolean;
}

/** Results of a server in a round. */
export interface Sample {
  perSecond: number;
  /** Median latency in milliseconds. */
  latency: number;
  /** Processor time per request in microseconds, of Node.js and of PostgreSQL. */
  node: number;
  postgres: number;
}

export type Samples<Name extends string> = Partial<Record<Name, Sample[]>>;

/** The warm-up of a kind, in slices: after less, V8 still optimizes while it is measured. */
const warmUpSlices = 3;

/**
 * Measures each kind on all servers in turns, the reads in all rounds before the orders. Within a kind, the servers get time slices in
 * turns, every second time in reverse order, so that a change of the machine's speed affects all of them. All get the same
 * requests.
 * @returns the samples of each round, by kind and server
 */
export async function measureRounds<Name extends string>(
  kinds: readonly RequestKind[],
  subjects: Record<Name, Subject>,
  {
    catalog,
    rounds,
    slices = 2,
    sliceMilliseconds,
    send,
    log,
  }: {
    catalog: DrawnCatalog;
    rounds: number;
    /** Slices of each server per round. */
    slices?: number;
    sliceMilliseconds: number;
    send: (order: LoadOrder) => Promise<LoadResult>;
    log: (line: string) => void;
  },
): Promise<Map<RequestKind, Samples<Name>>> {
  const drawn = new Map(kinds.map((kind) => [kind, drawRequests(kind, catalog)]));
  const samples = new Map<RequestKind, Samples<Name>>(kinds.map((kind) => [kind, {}]));
  for (const { round, kind } of turnsOf(kinds, rounds)) {
    const requests = drawn.get(kind)!;
    const slice = async ({ port, watch }: Subject, turn: number): Promise<Slice> => {
      const taken = watch();
      const from = ((slices * round + turn) * requests.length) / 7;
      const { connections } = kind;
      const milliseconds = round === 0 ? warmUpSlices * sliceMilliseconds : sliceMilliseconds;
      const order = { port, connections, milliseconds, apiKey, requests };
      const result = await send({ ...order, from: Math.floor(from) });
      return { ...result, ...taken() };
    };
    const names = rotated(Object.keys(subjects) as Name[], round).filter(
      (name) => !subjects[name].lacks?.(kind),
    );
    const taken = new Map<Name, Slice[]>(names.map((name) => [name, []]));
    for (let turn = 0; turn < (round === 0 ? 1 : slices); turn++) {
      for (const name of turn % 2 ? names.toReversed() : names)
        taken.get(name)!.push(await slice(subjects[name], turn));
    }
    if (round === 0) continue;
    for (const [name, ofRound] of taken) {
      const sample = combine(ofRound);
      (samples.get(kind)![name] ??= []).push(sample);
      log(`round ${round}: ${kind.name}: ${name} ${describeSample(sample)}`);
    }
  }
  return samples;
}

/**
 * Each kind in each round. Round 0 warms up: JIT, plans and disk cache. Orders come after all others: the service adds them up in the
 * background for minutes, which would be counted for the reads of the next round.
 */
function* turnsOf(
  kinds: readonly RequestKind[],
  rounds: number,
): Generator<{ round: number; kind: RequestKind }> {
  for (const kindsNow of [kinds.filter((kind) => !isOrder(kind)), kinds.filter(isOrder)]) {
    for (let round = 0; round <= rounds; round++) for (const kind of kindsNow) yield { round, kind };
  }
}

type Slice = LoadResult & { node: number; postgres: number };

function combine(slices: readonly Slice[]): Sample {
  const sum = (figure: keyof Slice) => slices.reduce((total, slice) => total + slice[figure], 0);
  const requests = sum('requests');
  return {
    perSecond: requests / sum('seconds'),
    latency: sum('median') / slices.length,
    node: (1_000 * sum('node')) / requests,
    postgres: (1_000 * sum('postgres')) / requests,
  };
}

const describeSample = ({ perSecond, latency, node, postgres }: Sample) =>
  `${perSecond.toFixed(0)}/s, ${latency.toFixed(2)} ms, ${node.toFixed(0)} + ${postgres.toFixed(0)} µs`;

function rotated<T>(values: readonly T[], turns: number): T[] {
  const first = turns % values.length;
  return [...values.slice(first), ...values.slice(0, first)];
}
