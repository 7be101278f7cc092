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
 * Returns the client's address: the socket's, or behind trusted proxies the right-most forwarded address that is not
 * one of them. Addresses further left are claims of the client.
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

/** Headers added by proxies, load balancers, CDNs and tunnels. */
const FORWARDED = new Set([
  'akamai-origin-hop',
  'cdn-loop',
  'client-ip',
  'do-connecting-ip',
  'forwarded',
  'incap-client-ip',
  'max-forwards',
  'proxy-client-ip',
  'proxy-connection',
  'true-client-ip',
  'via',
  'wl-proxy-client-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-edge-ip',
  'x-forwarded',
  'x-host',
  'x-nf-client-connection-ip',
  'x-real-ip',
  'x-real-port',
  'x-remote-addr',
  'x-remote-ip',
  'x-remote-user',
  'x-scheme',
  'x-sucuri-clientip',
])
const FORWARDED_PREFIXES = [
  'cf-',
  'cloudfront-',
  'fastly-',
  'fly-',
  'ngrok-',
  'tailscale-',
  'true-client-',
  'x-akamai-',
  'x-amz-',
  'x-amzn-',
  'x-appengine-',
  'x-arr-',
  'x-azure-',
  'x-cloud-trace-',
  'x-envoy-',
  'x-forwarded-',
  'x-original-',
  'x-proxy',
  'x-vercel-',
]

/** Returns whether a proxy forwarded the request, so its own address says nothing about the client. */
export function isForwarded(headers: Headers): boolean {
  return [...headers.keys()].some(
    (name) => FORWARDED.has(name) || FORWARDED_PREFIXES.some((prefix) => name.startsWith(prefix)),
  )
}

/** Returns whether `name`, the host of a URL, refers to this machine. */
export function isLocalName(name: string): boolean {
  const bare = name.startsWith('[') ? name.slice(1, -1) : name
  return bare === 'localhost' || isLoopback(bare)
}

export function isLoopback(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
}

/** Returns the key of a client for rate limits: the IPv4 address, or the /64 network of an IPv6 customer. */
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

/** Returns whether `address` is in one of `ranges`; false for invalid addresses. */
export function isIn(address: string, ranges: readonly Range[]): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return ranges.some(([range, bits]) => range.kind() === parsed.kind() && parsed.match(range, bits))
}
