import ipaddr from 'ipaddr.js'

/** What a request's Host header is to us: ours, somebody else's, or two of them. */
export type HostVerdict = 'served' | 'misdirected' | 'doubled'
export type HostRule = (host: string | null) => HostVerdict

/** How containers of Docker and Podman name the machine they run on. Nobody can register these names. */
const MACHINE_NAMES = ['host.docker.internal', 'host.containers.internal']
/** A name or an address, without the port and the dot that may follow. */
const HOST = /^(?:\[([\da-f:.]+)\]|([\w.-]+?))\.?(?::\d*)?$/
/** A name of 253 characters (RFC 1035, 2.3.4) and a port. */
const MAX_HOST_LENGTH = 260
/** Ports and capitals make many spellings of one name: what was found is forgotten beyond so many. */
const MAX_REMEMBERED = 1000

/**
 * Which Host headers are served (decisions, 47): `names`, `localhost`, addresses, and whatever lies below `agentsDomain`. A
 * page of another name that was made to resolve to this machine is told nothing. A request without the header names no
 * other host: only HTTP/1.0 allows that, and no browser speaks it.
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
    // The server joins repeated headers; no host has a comma.
    if (host.includes(',')) return 'doubled'
    if (host.length > MAX_HOST_LENGTH || !isServed(host)) return 'misdirected'
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.add(host)
    return 'served'
  }
}
