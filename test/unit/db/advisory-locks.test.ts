import { lockKinds } from '../../../src/db/advisory-locks';
import { migrationLock } from '../../../src/db/migrate';

describe('kinds of advisory locks', () => {
  it('have a byte of their own each', () => {
    const bytes = Object.values(lockKinds);

    expect(new Set(bytes).size).toBe(bytes.length);
    expect(bytes.every((byte) => byte > 0 && byte < 256)).toBe(true);
  });

  it('keep what release 1.2.0 and the functions of the schema use', () => {
    expect(lockKinds).toMatchObject({ run: 1, idempotencyKey: 2, partner: 3, withdrawals: 4 });
    expect(migrationLock).toBe(0x70636174);
  });
});
