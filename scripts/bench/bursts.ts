import { request, type ClientRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { feedForm, runExpecting, uploadFeed } from './feed-requests';
import { ask, quantile, timed, watchMemory } from './measure';
import type { BenchContext, Measurement } from './report';
import { keyHeader, withService } from './servers';

const burst = 64;

const slowUploads = 16;
const slowBytesPerSecond = 20_000;
const slowSeconds = 10;

/** A feed of 400 kB. */
const csv = (tag: string) =>
  'sku,product_name,category,price,currency\n' +
  Array.from({ length: 8_000 }, (_, row) => `${tag}-${row},Product number ${row},Lamps,${row}.95,EUR\n`).join(
    '',
  );

interface Burst {
  succeeded: number;
  seconds: number;
}

interface BesideSlow {
  /** Percentage. */
  succeeded: number;
  milliseconds: number[];
}

interface Round {
  bursts: Record<string, Burst>;
  besideSlow: BesideSlow;
  peakMegabytes: number;
}

/** Measures the success, latency and memory of concurrent requests of one key, and of uploads beside slow clients. */
export async function measureBursts(context: BenchContext): Promise<Measurement[]> {
  const rounds: Round[] = [];
  for (let round = 0; round < context.rounds; round++) {
    context.log(`round ${round + 1} of ${context.rounds}`);
    rounds.push(await measureRound(context));
  }
  const kinds = Object.keys(rounds[0]!.bursts);
  return [
    ...kinds.flatMap((kind): Measurement[] => [
      {
        part: 'bursts',
        name: `${burst} ${kind} at once that succeed`,
        unit: '%',
        values: rounds.map(({ bursts }) => (bursts[kind]!.succeeded / burst) * 100),
        target: { kind: 'at least', value: 100 },
      },
      {
        part: 'bursts',
        name: `${burst} ${kind} at once, until all have a response`,
        unit: 's',
        values: rounds.map(({ bursts }) => bursts[kind]!.seconds),
      },
    ]),
    {
      part: 'bursts',
      name: `uploads of 400 kB beside ${slowUploads} slow ones of other partners that succeed`,
      unit: '%',
      values: rounds.map(({ besideSlow }) => besideSlow.succeeded),
      target: { kind: 'at least', value: 100 },
    },
    {
      part: 'bursts',
      name: `p99 of uploads of 400 kB beside ${slowUploads} slow ones of other partners`,
      unit: 'ms',
      values: rounds.map(({ besideSlow }) => quantile(besideSlow.milliseconds, 0.99)),
    },
    {
      part: 'bursts',
      name: 'peak memory of the process in all of these',
      unit: 'MB',
      values: rounds.map(({ peakMegabytes }) => peakMegabytes),
    },
  ];
}

async function measureRound({ folder, log }: BenchContext): Promise<Round> {
  return withService(folder, async ({ url, pid }) => {
    const memory = watchMemory(pid);
    const { feedId, jobId } = await uploadFeed(url, formOf('Acme', `${csv('A')}bad,,,,\n`));
    await runExpecting(url, jobId);
    const send: Record<string, (number: number) => Promise<boolean>> = {
      uploads: (number) => postFile(`${url}/feeds/upload`, 'Acme', csv(`U${number}`)),
      inspections: (number) => postFile(`${url}/feeds/inspect`, 'Acme', csv(`I${number}`)),
      'downloads of a raw file': () => get(`${url}/feeds/${feedId}/raw`),
      'downloads of rejects': () => get(`${url}/jobs/${jobId}/rejects.csv`),
      'downloads of products': () => get(`${url}/partners/Acme/products.csv`),
    };
    const bursts: Record<string, Burst> = {};
    for (const [kind, one] of Object.entries(send)) {
      let succeeded = 0;
      const sendOne = async (_: unknown, number: number) => {
        if (await one(number)) succeeded++;
      };
      const seconds = await timed(() => Promise.all(Array.from({ length: burst }, sendOne)));
      bursts[kind] = { succeeded, seconds };
      log(`${succeeded} of ${burst} ${kind} in ${seconds.toFixed(2)} s`);
    }
    const besideSlow = await uploadBesideSlow(url);
    log(`${besideSlow.milliseconds.length} uploads beside slow ones, ${besideSlow.succeeded} % succeed`);
    return { bursts, besideSlow, peakMegabytes: memory.peakMegabytes() };
  });
}

/** Uploads files one after the other beside slow uploads that started a second earlier. */
async function uploadBesideSlow(url: string): Promise<BesideSlow> {
  const slow = Array.from({ length: slowUploads }, (_, number) => startSlowUpload(url, `Slow ${number}`));
  const milliseconds: number[] = [];
  let succeeded = 0;
  try {
    await sleep(1_000);
    for (const end = performance.now() + slowSeconds * 1000; performance.now() < end;) {
      const content = csv(`F${milliseconds.length}`);
      const seconds = await timed(async () => {
        if (await postFile(`${url}/feeds/upload`, 'Fast', content)) succeeded++;
      });
      milliseconds.push(seconds * 1000);
    }
  } finally {
    for (const { stop } of slow) stop();
  }
  return { succeeded: (succeeded / milliseconds.length) * 100, milliseconds };
}

/** Starts an upload that sends at `slowBytesPerSecond` and never ends. */
function startSlowUpload(url: string, partnerName: string): { stop: () => void } {
  const sent: ClientRequest = request(`${url}/feeds/upload`, {
    method: 'POST',
    agent: false,
    headers: { ...keyHeader, 'content-type': 'multipart/form-data; boundary=b' },
  });
  // The service may abort it in favor of others.
  sent.on('error', () => undefined).on('response', (response) => response.resume());
  sent.write(`--b\r\ncontent-disposition: form-data; name="partner_name"\r\n\r\n${partnerName}\r\n`);
  sent.write(
    '--b\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\nsku,product_name\n',
  );
  const row = 'SKU,Product\n'.repeat(slowBytesPerSecond / 10 / 12);
  const timer = setInterval(() => sent.write(row), 100);
  return {
    stop() {
      clearInterval(timer);
      sent.destroy();
    },
  };
}

async function postFile(url: string, partnerName: string, content: string): Promise<boolean> {
  const response = await fetch(url, {
    method: 'POST',
    headers: keyHeader,
    body: formOf(partnerName, content),
  });
  await response.arrayBuffer();
  return response.ok;
}

const formOf = (partnerName: string, content: string) =>
  feedForm(partnerName, new Blob([content], { type: 'text/csv' }));

async function get(url: string): Promise<boolean> {
  return (await ask(url, { headers: keyHeader })).status === 200;
}
