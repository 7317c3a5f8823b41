import { holdLease, PruneInProgress } from '../../../src/operation/retention/lease';
import { prune } from '../../../src/operation/retention/prune';
import { startTestService } from '../../support/service';

const rules = { rowIssueDays: 90, historyDays: 400 };

describe('the lease of the prune, held by other work', () => {
  it('keeps prunes out until the work ends, also by an error', async () => {
    const { db, objectStore } = await startTestService();
    const tryPrune = () => prune({ db, objectStore, rules });

    const result = await holdLease(db, async () => {
      await expect(tryPrune()).rejects.toThrow(PruneInProgress);
      return 'done';
    });
    expect(result).toBe('done');
    await tryPrune();
    const failing = holdLease(db, () => Promise.reject(new Error('The disk is full.')));
    await expect(failing).rejects.toThrow('The disk is full.');
    await tryPrune();
  });

  it('is not taken from a prune', async () => {
    const { db } = await startTestService();
    await db('retention').update({ leased_until: new Date('2099-01-01') });
    const work = jest.fn();

    await expect(holdLease(db, work)).rejects.toThrow(PruneInProgress);

    expect(work).not.toHaveBeenCalled();
  });
});
