import ipaddr from 'ipaddr.js'

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number]

/** Reads `TRUSTED_PROXIES`: ranges and single addresses. */
export function parseRanges(texts: readonly string[]): Range[] {
  return texts.map((text) => {
    if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text)
    const address = ipaddr.parse(text)
    return [address, address.kind() === 'ipv4' ? 32 : 128]
  })
}

/**
 * The caller's address: the socket's, unless that is a trusted proxy; then the right-most forwarded address that is not
 * one (decisions, 33). What stands further left is the caller's own claim.
 */
export function clientAddress(socketAddress: string, forwardedFor: string | null, trusted: readonly Range[]): string {
  if (!forwardedFor || trusted.length === 0 || !isIn(socketAddress, trusted)) return socketAddress
  const hops = forwardedFor.split(',').map((hop) => hop.trim())
  for (const hop of hops.reverse()) {
    if (!ipaddr.isValid(hop)) return socketAddress
    if (!isIn(hop, trusted)) return hop
  }
  return socketAddress
}

/** Any of these says that a request came through somebody else, whose own address is no proof. */
const FORWARDED = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip']

/** Does a proxy say that it hands the request on? */
export function isForwarded(headers: Headers): boolean {
  return FORWARDED.some((name) => headers.has(name))
}

/** What counts as one caller for rate limits: an IPv4 address, or the /64 that one IPv6 customer holds. */
export function addressKey(address: string | null): string {
  if (!address || !ipaddr.isValid(address)) return 'unknown'
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString()
}

/** Returns the network that an address belongs to: the /24 of an IPv4 address, the /64 of an IPv6 one. */
export function networkKey(address: string | null): string {
  const key = addressKey(address)
  return ipaddr.IPv4.isValid(key) ? ipaddr.IPv4.networkAddressFromCIDR(`${key}/24`).toString() : key
}

/** Is `address` in one of `ranges`? Nothing that is no address is. */
export function isIn(address: string, ranges: readonly Range[]): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return ranges.some(([range, bits]) => range.kind() === parsed.kind() && parsed.match(range, bits))
}
