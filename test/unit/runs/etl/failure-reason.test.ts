import { FeedFailure, failureReason } from '../../../../src/runs/etl/run-result';

describe('the reason of a failed run', () => {
  it('is the reason of the feed, with a period', () => {
    expect(failureReason(new FeedFailure('The feed is older'))).toBe('The feed is older.');
  });

  it('states that only this partner is affected when Citus has lost the node of its products', () => {
    const lost = { severity: 'ERROR', code: '08006', message: 'connection to the remote node failed' };

    expect(failureReason(lost)).toBe(
      "The part of the database with this partner's products is unavailable. Run the job again later.",
    );
  });

  it('contains no details of other errors', () => {
    expect(failureReason(new Error('syntax error at or near "products"'))).toBe(
      'The products could not be saved.',
    );
  });
});
