import { createSharedReads } from '../../../src/base/concurrency/shared-reads';

/** A read that ends when the test resolves it. */
function heldReads() {
  const ends: { resolve: (value: string) => void; reject: (error: Error) => void }[] = [];
  const read = () => new Promise<string>((resolve, reject) => ends.push({ resolve, reject }));
  return { ends, read };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it('starts a read at once if no equal one is in progress', () => {
  const { ends, read } = heldReads();
  const share = createSharedReads<string>();
  void share('a', read);
  void share('b', read);

  expect(ends).toHaveLength(2);
});

it('gives requests that arrive during a read the result of one read that started after their arrival', async () => {
  const { ends, read } = heldReads();
  const share = createSharedReads<string>();
  const first = share('a', read);
  const later = [share('a', read), share('a', read)];
  expect(ends).toHaveLength(1);
  ends[0]!.resolve('old');
  await turn();
  const last = share('a', read);
  expect(ends).toHaveLength(2);
  ends[1]!.resolve('new');
  await turn();
  ends[2]!.resolve('newest');

  expect(await first).toBe('old');
  expect(await Promise.all(later)).toEqual(['new', 'new']);
  expect(await last).toBe('newest');
});

it('throws the error of a read only to the requests that share it', async () => {
  const { ends, read } = heldReads();
  const share = createSharedReads<string>();
  const first = share('a', read);
  const second = share('a', read);
  ends[0]!.reject(new Error('lost'));
  await expect(first).rejects.toThrow('lost');
  await turn();
  ends[1]!.resolve('found');

  expect(await second).toBe('found');
});

it('starts a new read after the last one has ended', async () => {
  const { ends, read } = heldReads();
  const share = createSharedReads<string>();
  const first = share('a', read);
  ends[0]!.resolve('old');
  await first;
  await turn();
  void share('a', read);

  expect(ends).toHaveLength(2);
});
