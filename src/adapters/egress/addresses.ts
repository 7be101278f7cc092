import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

/** Beside the public ones: what SUMMARIZER_ALLOW_PRIVATE opens. Link-local stays shut: cloud metadata lives there. */
const PRIVATE_RANGES: ReadonlySet<string> = new Set(['loopback', 'private', 'uniqueLocal', 'carrierGradeNat'])

/** Addresses that ipaddr.js calls public and that lead inside: old IPv4-in-IPv6, and a cloud's internal service. */
const INSIDE = ['::/96', '168.63.129.16/32'].map((range) => ipaddr.parseCIDR(range))
/** Everything public in IPv6 lies here (IANA, IPv6 Global Unicast Address Assignments). */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * May the platform connect to `address` on behalf of a user? Only to public addresses that are not this machine's own,
 * in any spelling; with `allowPrivate` also to loopback and private ones.
 */
export function isAllowedAddress(address: string, allowPrivate: boolean): boolean {
  if (address.includes('%') || !ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  const range = parsed.range()
  if (allowPrivate && PRIVATE_RANGES.has(range)) return true
  if (range !== 'unicast' || isInside(parsed)) return false
  return allowPrivate || !isOwn(parsed)
}

function isInside(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address instanceof ipaddr.IPv6 && !address.match(GLOBAL_IPV6)) return true
  return INSIDE.some(([range, bits]) => range.kind() === address.kind() && address.match(range, bits))
}

/** A public address of this machine leads to its own services, past the firewall before it. */
function isOwn(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return own.some((entry) => ipaddr.parse(entry.address).toNormalizedString() === address.toNormalizedString())
}
