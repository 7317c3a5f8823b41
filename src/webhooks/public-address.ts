import type { LookupAddress } from 'node:dns';
import { resolve4, resolve6 } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A name or an address leads to where nothing may be sent. */
export class PrivateAddressError extends Error {
  constructor(address: string) {
    super(`${address} is no public address`);
  }
}

/** What IANA gives to networks that are connected to the internet; all else of IPv6 is special, or not given to anybody. */
const globalUnicast = ipaddr.parseCIDR('2000::/3');

/**
 * Whether an IP address is one of the internet: not this machine, a network of somebody's own, a link, a group, or an
 * address within which another one stands. @param address - as text, valid
 */
export function isPublicAddress(address: string): boolean {
  // An IPv4 address that is written as one of IPv6 is taken for what it is.
  const ip = ipaddr.process(address);
  return ip.range() === 'unicast' && (ip.kind() === 'ipv4' || ip.match(globalUnicast));
}

/** @throws PrivateAddressError when the host of a URL is an address itself, and not a public one */
export function requirePublicHost({ hostname }: URL): void {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) && !isPublicAddress(host)) throw new PrivateAddressError(host);
}

/**
 * Looks a name up for a connection that is about to be made to what it finds: whatever the name is said to be at another
 * moment does not matter. Asks name servers, not the system: it would be told of names of this machine and its network too,
 * and who waits for a dead server there holds one of the few threads that look up the database and the object store.
 * Fails with PrivateAddressError when any of its addresses is not public.
 */
export const lookUpPublic: LookupFunction = (hostname, options, done) => {
  resolvePublic(hostname).then(
    ([first, ...more]) =>
      options.all ? done(null, [first, ...more]) : done(null, first.address, first.family),
    (error: unknown) => done(error as Error, ''),
  );
};

/** @throws PrivateAddressError; what is wrong with its IPv4 addresses when there is no address */
async function resolvePublic(hostname: string): Promise<[LookupAddress, ...LookupAddress[]]> {
  const [v4, v6] = await Promise.allSettled([resolve4(hostname), resolve6(hostname)]);
  const addresses = [...addressesOf(v4, 4), ...addressesOf(v6, 6)];
  const [first, ...more] = addresses;
  if (!first) throw (v4 as PromiseRejectedResult).reason;
  const wrong = addresses.find(({ address }) => !isPublicAddress(address));
  if (wrong) throw new PrivateAddressError(wrong.address);
  return [first, ...more];
}

const addressesOf = (found: PromiseSettledResult<string[]>, family: number): LookupAddress[] =>
  found.status === 'fulfilled' ? found.value.map((address) => ({ address, family })) : [];
