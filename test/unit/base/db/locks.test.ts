import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lockKeyOf, lockKinds, onlyLock, tryLockSql } from '../../../../src/base/db/locks';
import { raw } from '../../../../src/base/db/sql';
import { project } from '../../../support/harness';

const file = 'src/base/db/locks.ts';

describe('kinds of advisory locks', () => {
  it('have a unique first byte each', () => {
    const bytes = Object.values(lockKinds);

    expect(new Set(bytes).size).toBe(bytes.length);
    expect(bytes.every((byte) => byte > 0 && byte < 256)).toBe(true);
  });

  it('keep the numbers of release 1.2.0 and of the functions of the schema', () => {
    expect(lockKinds).toMatchObject({ run: 1, idempotencyKey: 2, partner: 3, withdrawals: 4 });
    expect(lockKeyOf('migration', BigInt(onlyLock.migration))).toBe(0x70636174n);
    expect(lockKeyOf('owner', BigInt(onlyLock.owner))).toBe(0x6f776e72n);
  });

  it('keep the numbers of processes that run during an upgrade', () => {
    expect(lockKinds).toMatchObject({ history: 5, reservation: 6, searchIndex: 7, stalePartners: 8 });
    expect(lockKinds).toMatchObject({ attention: 9, formats: 10 });
  });

  it('are listed in the order in which a transaction takes them', () => {
    const table = readFileSync(join(project, file), 'utf8').matchAll(/^ \* \| `(\w+)`/gm);

    expect(Array.from(table, ([, kind]) => kind)).toEqual(Object.keys(lockKinds));
  });
});

describe('the key of an advisory lock', () => {
  it('is the same in SQL and in the process', () => {
    expect(tryLockSql('partner', raw(7)).sql).toBe('pg_try_advisory_xact_lock((7 << 8) | 3)');
    expect(lockKeyOf('partner', 7n)).toBe((7n << 8n) | 3n);
  });

  it('has 64 bits for the largest and the smallest number', () => {
    expect(lockKeyOf('partner', 2n ** 55n - 1n)).toBe(0x7fff_ffff_ffff_ff03n);
    expect(lockKeyOf('partner', -(2n ** 55n))).toBe(-(2n ** 63n) + 3n);
  });
});
