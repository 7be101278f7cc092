/** Which destinations an agent may reach: every public one, the listed ones, or none. */
export const EGRESS_POLICIES = ['open', 'allow-list', 'none'] as const
export type EgressPolicyName = (typeof EGRESS_POLICIES)[number]
export type EgressPolicy = { policy: EgressPolicyName; allow: readonly string[] }

/** An entry of a list of destinations. `port` null means the web ports; `*` is any port. */
type Destination = { host: string; isWildcard: boolean; port: number | '*' | null }

/** Ports of an entry without a port. */
const WEB_PORTS: readonly number[] = [80, 443]
const MAX_HOST_LENGTH = 253
const MAX_LABEL_LENGTH = 63
/** Characters that would change how a URL is read, or that no host name has. */
const NOT_IN_HOST = /[\s\p{Cc}/\\@#?%:[\]<>^|"`{}]/u
const LABEL = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$/
const IPV6_CHARACTERS = /^[0-9a-f:.]+$/i

/**
 * Returns the canonical form of a host: lower case, punycode, no trailing dot, and addresses in their usual spelling,
 * whatever spelling a resolver would accept. Null for text that is no host.
 */
export function toCanonicalHost(text: string): string | null {
  const address = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text
  if (address.includes(':') && IPV6_CHARACTERS.test(address)) return hostOf(`[${address}]`)?.slice(1, -1) ?? null
  if (text.length > MAX_HOST_LENGTH + 1 || NOT_IN_HOST.test(text)) return null
  const host = hostOf(text)?.replace(/\.$/, '')
  return host && isHostName(host) ? host : null
}

/** Parses `host`, `host:port` or `*.host`. Null for text that is none of them. */
export function parseDestination(text: string): Destination | null {
  const [, hostText = '', portText] = /^(\[[^\]]*\]|[^:]*)(?::(\*|\d{1,5}))?$/.exec(text) ?? []
  const isWildcard = hostText.startsWith('*.')
  const host = toCanonicalHost(isWildcard ? hostText.slice(2) : hostText)
  const port = portText === undefined ? null : portText === '*' ? '*' : Number(portText)
  if (host === null || port === 0 || (typeof port === 'number' && port > 65_535)) return null
  // A wildcard over a whole top-level domain, or over an address, would be a mistake.
  if (isWildcard && (!host.includes('.') || /^[\d.:]+$/.test(host))) return null
  return { host, isWildcard, port }
}

/** Writes a destination as `parseDestination` reads it. */
export function formatDestination({
  host,
  isWildcard = false,
  port,
}: Omit<Destination, 'isWildcard'> & { isWildcard?: boolean }): string {
  const name = `${isWildcard ? '*.' : ''}${host.includes(':') ? `[${host}]` : host}`
  return port === null ? name : `${name}:${port}`
}

/** Returns the entry that contains a canonical host and a port; one that names the port comes first. */
export function findDestination(entries: readonly string[], host: string, port: number): Destination | null {
  const matching = entries
    .map(parseDestination)
    .filter((entry) => entry !== null)
    .filter((entry) => isHostIn(entry, host) && isPortIn(entry, port))
  return matching.find((entry) => entry.port !== null) ?? matching[0] ?? null
}

function isHostIn({ host, isWildcard }: Destination, wanted: string): boolean {
  return isWildcard ? wanted.endsWith(`.${host}`) : wanted === host
}

function isPortIn({ port }: Destination, wanted: number): boolean {
  return port === '*' || (port === null ? WEB_PORTS.includes(wanted) : port === wanted)
}

/** Lets the URL parser decide, which also resolves every spelling of an IPv4 address. */
function hostOf(text: string): string | null {
  return URL.canParse(`http://${text}/`) ? new URL(`http://${text}/`).hostname : null
}

function isHostName(host: string): boolean {
  if (host.length > MAX_HOST_LENGTH) return false
  return host.split('.').every((label) => label.length <= MAX_LABEL_LENGTH && LABEL.test(label))
}
