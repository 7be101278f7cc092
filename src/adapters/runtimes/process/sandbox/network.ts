import type { AgentSpec } from '../../contract/runtime.ts'
import type { Mount } from './arguments.ts'

/** Where an agent without a network finds the sockets of the platform (`platform`) and puts its own (`agent`). */
export const SOCKETS = '/run/stead'

/** Variables with the URLs of the platform and its egress proxy, which are on this machine. */
const PLATFORM_URLS = ['PLATFORM_URL', 'EGRESS_PROXY']

type Environment = AgentSpec['environment']

/** Returns the URLs of the platform in an agent's environment; none unless all of them are plain HTTP. */
export function listPlatformUrls(environment: Environment): URL[] {
  const urls = PLATFORM_URLS.flatMap((name) => environment[name] ?? []).map((text) => new URL(text))
  const isPlain = urls.every(({ protocol, port }) => protocol === 'http:' && port !== '')
  return isPlain && urls.length === PLATFORM_URLS.length ? urls : []
}

/** Returns whether an agent gets a network namespace: its program must know the proxy. */
export function isNetworkSeparate({ sockets }: { sockets: string | null }, environment: Environment): boolean {
  return sockets !== null && listPlatformUrls(environment).length > 0
}

/** Returns the variables of an agent without a network: the platform is at ports of its own loopback device. */
export function toSeparateEnvironment(environment: Environment): Environment {
  const toLocal = (text: string) => `http://127.0.0.1:${new URL(text).port}`
  const urls = PLATFORM_URLS.map((name) => [name, toLocal(environment[name] ?? '')])
  return { ...environment, ...Object.fromEntries(urls), AGENT_SOCKETS: SOCKETS }
}

/** Lists the folders with the sockets of the platform, and of the agent. */
export function listSocketMounts(platform: string, agent: string): Mount[] {
  return [
    { kind: 'read-only', path: `${SOCKETS}/platform`, source: platform },
    { kind: 'read-write', path: `${SOCKETS}/agent`, source: agent },
  ]
}
