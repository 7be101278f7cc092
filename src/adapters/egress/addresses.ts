import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

/** Ranges that SUMMARIZER_ALLOW_PRIVATE allows; link-local stays blocked because it serves cloud metadata. */
const PRIVATE_RANGES: ReadonlySet<string> = new Set(['loopback', 'private', 'uniqueLocal', 'carrierGradeNat'])

/**
 * Ranges that ipaddr.js reports as public but that reach internal hosts: IPv4-compatible IPv6 and Azure's internal
 * service.
 */
const INSIDE = ['::/96', '168.63.129.16/32'].map((range) => ipaddr.parseCIDR(range))
/** All public IPv6 addresses (IANA, IPv6 Global Unicast Address Assignments). */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Returns whether a user may make the platform connect to `address`: public addresses of other hosts, and with
 * `allowPrivate` also loopback and private ones.
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

/** A connection to this machine's own public address would bypass its firewall. */
function isOwn(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return own.some((entry) => ipaddr.parse(entry.address).toNormalizedString() === address.toNormalizedString())
}
