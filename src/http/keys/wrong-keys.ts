import { setTimeout as sleep } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';

/** Limits of wrong API keys, per process. */
export const wrongKeyLimits = {
  /** Maximum number of wrong keys per address and `countMilliseconds` without a delay, for a misconfigured client. */
  undelayedMax: 20,
  countMilliseconds: 60_000,
  /** Counted addresses, in about 2 MB. */
  addressesMax: 10_000,
  delayMilliseconds: 250,
  /** Concurrently delayed responses, each of which occupies a connection; further ones are not delayed. */
  delayedMax: 100,
};

/** Waits before a wrong key of this address is rejected. */
export type DelayWrongKey = (remoteAddress: string | undefined) => Promise<void>;

/** Delays responses to addresses with many wrong keys. Valid keys are not delayed: a proxy can have the address. */
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

/** Returns an IPv4 address, or the first 64 bits of an IPv6 address: a client can choose the rest. */
function networkOf(address = ''): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString();
}
