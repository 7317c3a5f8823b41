import { setTimeout as sleep } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';

/** Limits of wrong API keys, per process. */
export const wrongKeyLimits = {
  /** Wrong keys of one address within `countMilliseconds` without a delay: those of a client that is set up wrongly. */
  undelayedMax: 20,
  countMilliseconds: 60_000,
  /** The addresses that are counted, in about 2 MB. */
  addressesMax: 10_000,
  delayMilliseconds: 250,
  /** Delayed responses at a time: each occupies a connection. Beyond them, wrong keys are refused at once. */
  delayedMax: 100,
};

/** Waits before a wrong key of this address is refused. */
export type DelayWrongKey = (remoteAddress: string | undefined) => Promise<void>;

/**
 * Slows down addresses that send many wrong keys. The address is that of the connection, behind a proxy the proxy's: so
 * right keys of the same address are not delayed.
 */
export function delayWrongKeys(milliseconds = wrongKeyLimits.delayMilliseconds): DelayWrongKey {
  const { undelayedMax, countMilliseconds, addressesMax, delayedMax } = wrongKeyLimits;
  const counts = new LRUCache<string, number>({
    max: addressesMax,
    ttl: countMilliseconds,
    noUpdateTTL: true,
  });
  let delayed = 0;
  return async (remoteAddress) => {
    const network = networkOf(remoteAddress);
    const count = (counts.get(network) ?? 0) + 1;
    counts.set(network, count);
    if (count <= undelayedMax || delayed >= delayedMax) return;
    delayed++;
    await sleep(milliseconds, undefined, { ref: false });
    delayed--;
  };
}

/** An IPv4 address, or the first 64 bits of an IPv6 address: a client chooses the rest itself. */
function networkOf(address = ''): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString();
}
