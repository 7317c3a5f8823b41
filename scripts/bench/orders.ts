import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatId } from '../../src/shared/ids';
import { connectTo, socketFolder, startServiceProcess } from '../service-process';
import { sendOrders } from './order-load';
import type { BenchContext, Measurement } from './report';
import { fillCatalog, fillOrders, partners, products } from './sales-history';

const apiKey = 'key-of-the-benchmark';
const connections = 16;
const target = { kind: 'at least', value: 0.8 } as const;

/** Popularity: any product, or the same three in every order. */
const kinds = [
  ['orders of any products', products],
  ['orders of the same three products', 3],
] as const;

/**
 * Measures orders of three items through the service, and the same inserts by pgbench: one prepared statement on the same
 * tables. Both with 16 connections, in turns. Without pgbench there is no limit.
 */
export async function measureOrders({ quick, rounds, folder, log }: BenchContext): Promise<Measurement[]> {
  const pgbench = findPgbench();
  if (!pgbench) log('pgbench not found (Debian: postgresql-contrib), rate omitted');
  const seconds = quick ? 3 : 15;
  const dataDir = join(folder, 'data');
  const service = await startServiceProcess(dataDir, { API_KEYS: apiKey });
  try {
    const database = await connectTo(dataDir);
    await fillCatalog(database);
    await fillOrders(database, { orders: quick ? 20_000 : 200_000, days: 365 });
    const send = (count: number, milliseconds: number) =>
      sendOrders({ url: service.url, apiKey, connections, milliseconds, nextBody: () => randomOrder(count) });
    // Warm-up.
    await send(products, quick ? 1_000 : 5_000);
    const measured = kinds.map(([name, count]) => ({
      name,
      count,
      values: [] as number[],
      limit: [] as number[],
    }));
    for (let round = 1; round <= rounds; round++) {
      for (const { name, count, values, limit } of measured) {
        values.push(await send(count, seconds * 1_000));
        if (pgbench) limit.push(insertByPgbench(pgbench, { dataDir, folder, count, seconds }));
        log(
          `round ${round}: ${name}: ${values.at(-1)!.toFixed(0)} a second, pgbench ${limit.at(-1)?.toFixed(0)}`,
        );
      }
    }
    await database.end();
    return measured.map(({ name, values, limit }) => ({
      part: 'orders',
      name: `${name}, ${connections} connections`,
      unit: 'orders/s',
      values,
      ...(pgbench && { limit: { name: 'the same inserts by pgbench', values: limit }, target }),
    }));
  } finally {
    await service.stop();
  }
}

/** An order of three items. @param count - number of products to choose from */
export function randomOrder(count: number): string {
  return JSON.stringify({
    partner_name: `Partner ${random(partners)}`,
    customer_reference: 'measured',
    items: [1, 2, 3].map((quantity) => ({ product_id: formatId('PR', random(count)), quantity })),
  });
}

const random = (count: number) => 1 + Math.floor(Math.random() * count);

/** In the search path, or Debian's newest. */
function findPgbench(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const places = ['pgbench', ...versions.map((version) => join(debian, version, 'bin', 'pgbench'))];
  return places.find((place) => spawnSync(place, ['--version']).status === 0);
}

function insertByPgbench(
  pgbench: string,
  { dataDir, folder, count, seconds }: { dataDir: string; folder: string; count: number; seconds: number },
): number {
  const script = join(folder, 'order.sql');
  writeFileSync(script, orderScript(count));
  const options = `--no-vacuum --protocol=prepared --client=${connections} --jobs=2 --time=${seconds}`.split(
    ' ',
  );
  const { stdout, stderr } = spawnSync(pgbench, [...options, `--file=${script}`, 'partner_catalog'], {
    env: { ...process.env, PGHOST: socketFolder(dataDir), PGUSER: 'postgres' },
    encoding: 'utf8',
  });
  const rate = /tps = ([\d.]+) \(without/.exec(stdout)?.[1];
  if (rate === undefined || /aborted/.test(stderr)) throw new Error(`pgbench: ${stderr}`);
  return Number(rate);
}

const orderScript = (count: number) => `
\\set first random(1, ${count})
\\set second random(1, ${count})
\\set third random(1, ${count})
\\set partner random(1, ${partners})
with line as (
  select * from unnest(
    array[:first, :second, :third]::bigint[], array['SKU-1', 'SKU-2', 'SKU-3'],
    array['Product number 1', 'Product number 2', 'Product number 3'], array[1, 2, 3], array[10.5, 20.25, 30.99]::numeric[]
  ) with ordinality as given (product_id, sku, product_name, quantity, unit_price, position)
), new_order as (
  insert into orders (partner_name, customer_reference, currency, total_amount)
  select 'Partner ' || cast(:partner as integer), 'measured', 'EUR', sum(unit_price * quantity) from line
  returning order_id
)
insert into order_items (order_id, product_id, sku, product_name, quantity, unit_price, line_total)
select order_id, product_id, sku, product_name, quantity, unit_price, unit_price * quantity
from new_order cross join line order by position;
`;
