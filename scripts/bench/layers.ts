import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { thisBuild } from '../service-process';
import { watchProcessors } from './processor-time';
import { withLoad } from './processes';
import type { BenchContext, Measurement } from './report';
import type { RequestKind } from './request-kinds';
import { measureRounds, type Subject } from './request-rounds';

const order = {
  partner_name: 'Acme Outdoor',
  items: [1, 2, 3].map((number) => ({ product_id: `PR0000${number}`, quantity: number })),
};

const kinds: readonly RequestKind[] = [
  {
    name: 'page of a partner',
    connections: 50,
    draw: (_, random) => ({ path: `/products?partner_name=Partner+${Math.floor(1000 * random())}&limit=20` }),
  },
  { name: 'order of three', connections: 50, draw: () => ({ path: '/orders', body: JSON.stringify(order) }) },
];

/** Measures the processor time of each layer: a request with the layer minus a request without it. */
export async function measureLayers({ quick, rounds, log }: BenchContext): Promise<Measurement[]> {
  const child = spawn(
    process.execPath,
    [...thisBuild.nodeFlags, '--import', 'tsx', join(__dirname, 'layers-server.ts')],
    {
      env: { ...process.env, NODE_ENV: 'production' },
      // Its log costs as much as the log of the service.
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    },
  );
  try {
    const [ports] = (await once(child, 'message')) as [Record<string, number>];
    const watch = () => {
      const taken = watchProcessors(child.pid!);
      return () => ({ node: taken(), postgres: 0 });
    };
    const subjects: Record<string, Subject> = Object.fromEntries(
      Object.entries(ports).map(([name, port]) => [name, { port, watch }]),
    );
    const catalog = { products: 0, ofPartners: [], orderable: [] };
    const size = { slices: 2, sliceMilliseconds: quick ? 250 : 1_000 };
    const samples = await withLoad((send) =>
      measureRounds(kinds, subjects, { catalog, rounds, ...size, send, log }),
    );
    return [...samples].flatMap(([{ name }, of]) => {
      let below: number[] = [];
      const measurements = Object.keys(ports).map((layer): Measurement => {
        const whole = of[layer]!.map(({ node }) => node);
        const values = whole.map((time, round) => time - (below[round] ?? 0));
        below = whole;
        return { part: 'layers', name: `${name}: ${layer}`, unit: 'µs', values };
      });
      return [...measurements, { part: 'layers', name: `${name}: all layers`, unit: 'µs', values: below }];
    });
  } finally {
    child.kill();
  }
}
