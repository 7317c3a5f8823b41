import type { LookupAddress, LookupOptions } from 'node:dns';
import { lookup as lookUp } from 'node:dns/promises';
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
 * moment does not matter. Fails with PrivateAddressError when any of its addresses is not public.
 */
export const lookUpPublic: LookupFunction = (hostname, options, done) => {
  resolvePublic(hostname, options).then(
    ([first, ...more]) =>
      options.all ? done(null, [first, ...more]) : done(null, first.address, first.family),
    (error: unknown) => done(error as Error, ''),
  );
};

/** @throws PrivateAddressError; whatever the look-up throws, as when there is no address */
async function resolvePublic(
  hostname: string,
  options: LookupOptions,
): Promise<[LookupAddress, ...LookupAddress[]]> {
  const addresses = await lookUp(hostname, { ...options, all: true });
  const wrong = addresses.find(({ address }) => !isPublicAddress(address));
  if (wrong) throw new PrivateAddressError(wrong.address);
  return addresses as [LookupAddress, ...LookupAddress[]];
}
