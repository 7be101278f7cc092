import ipaddr from 'ipaddr.js'

/** The verdict on a Host header: ours, another host's, or repeated. */
export type HostVerdict = 'served' | 'misdirected' | 'doubled'
export type HostRule = (host: string | null) => HostVerdict

/** Names of the host machine inside Docker and Podman containers; they cannot be registered. */
const MACHINE_NAMES = ['host.docker.internal', 'host.containers.internal']
/** A name or address with an optional trailing dot and port. */
const HOST = /^(?:\[([\da-f:.]+)\]|([\w.-]+?))\.?(?::\d*)?$/
/** A name of 253 characters (RFC 1035, 2.3.4) and a port. */
const MAX_HOST_LENGTH = 260
/** Ports and letter case allow many spellings of a name, so the cache is bounded. */
const MAX_REMEMBERED = 1000

/**
 * Accepts Host headers with `names`, `localhost`, IP addresses and names below `agentsDomain`, which prevents DNS
 * rebinding. Accepts requests without the header: only HTTP/1.0 allows that, and browsers do not use it.
 */
export function createHostRule({ names, agentsDomain }: { names: readonly string[]; agentsDomain: string }): HostRule {
  const served = new Set([...names.map((name) => name.toLowerCase()), ...MACHINE_NAMES, 'localhost'])
  const remembered = new Set<string>()

  const isServed = (host: string) => {
    const [, address6, name = ''] = HOST.exec(host.toLowerCase()) ?? []
    if (address6 !== undefined) return ipaddr.IPv6.isValid(address6)
    return served.has(name) || name.endsWith(`.${agentsDomain}`) || ipaddr.IPv4.isValidFourPartDecimal(name)
  }
  return (host) => {
    if (host === null || remembered.has(host)) return 'served'
    // The server joins repeated headers with commas.
    if (host.includes(',')) return 'doubled'
    if (host.length > MAX_HOST_LENGTH || !isServed(host)) return 'misdirected'
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.add(host)
    return 'served'
  }
}
