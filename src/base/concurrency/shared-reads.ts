/** A read in progress, and the read that starts when it ends. */
interface Place<Result> {
  readonly ended: Promise<void>;
  next?: Promise<Result>;
}

/**
 * Shares reads: requests that arrive during a read of the same key wait for one more read, which serves all of them. So no
 * request gets a read that started before it arrived.
 * @returns a function that reads `key`. It throws the error of the read
 */
export function createSharedReads<Result>(): (key: string, read: () => Promise<Result>) => Promise<Result> {
  const places = new Map<string, Place<Result>>();

  async function begin(key: string, read: () => Promise<Result>): Promise<Result> {
    // A synchronous error is a failed read too.
    const result = (async () => read())();
    const place: Place<Result> = {
      ended: result.then(
        () => end(key, place),
        () => end(key, place),
      ),
    };
    places.set(key, place);
    return result;
  }

  function end(key: string, place: Place<Result>): void {
    if (!place.next) places.delete(key);
  }

  return (key, read) => {
    const place = places.get(key);
    if (!place) return begin(key, read);
    return (place.next ??= place.ended.then(() => begin(key, read)));
  };
}
