import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Runtime } from '../adapters/runtime.ts'
import type { Config } from '../core/config.ts'
import type { Listeners } from './listen.ts'

const EVERYWHERE = ['0.0.0.0', '::']

type Deps = {
  config: Pick<Config, 'host' | 'dataDir'>
  runtime: Pick<Runtime, 'platformHost'>
  listeners: Pick<Listeners, 'ports' | 'localUrls' | 'listenForAgents'>
}

/**
 * Finds the address at which agents call this platform, and opens a door there when none of the listeners is reachable
 * from where they run. The port is remembered: another one would mean that every agent has to be told, and restarted.
 */
export function createAgentDoor({ config, runtime, listeners }: Deps): () => Promise<string> {
  const urls = new Map<string, string>()
  const file = join(config.dataDir, 'agents.port')

  return async () => {
    const host = await runtime.platformHost()
    const known = urls.get(host)
    if (known) return known
    const url = isCovered(host) ? listenerUrl(host) : `http://${host}:${open(host)}`
    urls.set(host, url)
    return url
  }

  function isCovered(host: string): boolean {
    return host === '127.0.0.1' || host === config.host || EVERYWHERE.includes(config.host)
  }
  function listenerUrl(host: string): string {
    return host === '127.0.0.1' ? listeners.localUrls.backend : `http://${host}:${listeners.ports.backend}`
  }
  function open(host: string): number {
    const port = listeners.listenForAgents(host, [...remembered(), listeners.ports.backend, 0])
    writeFileSync(file, String(port), { mode: 0o600 })
    return port
  }
  function remembered(): number[] {
    try {
      const port = Number(readFileSync(file, 'utf8'))
      return Number.isInteger(port) && port > 0 && port <= 65_535 ? [port] : []
    } catch {
      return []
    }
  }
}
