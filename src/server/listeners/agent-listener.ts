import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Runtime } from '../../adapters/runtimes/contract/runtime.ts'
import type { Config } from '../../core/config.ts'
import type { Listeners } from './listen.ts'

const EVERYWHERE = ['0.0.0.0', '::']

type Deps = {
  config: Pick<Config, 'host' | 'dataDir'>
  listeners: Pick<Listeners, 'ports' | 'localUrls' | 'listenForAgents'>
}

/** Where agents of a runtime call this platform. */
export type AgentDoor = (runtime: Pick<Runtime, 'platformHost'>) => Promise<string>

/**
 * Finds the address at which agents call this platform, and opens a door there when none of the listeners is reachable
 * from where they run. The port of a door is remembered: another one would mean that every agent has to be told, and
 * restarted.
 */
export function createAgentDoor({ config, listeners }: Deps): AgentDoor {
  const urls = new Map<string, string>()
  const file = join(config.dataDir, 'agents.port')

  return async (runtime) => {
    const host = await runtime.platformHost()
    const known = urls.get(host)
    if (known) return known
    const url = isCovered(host) ? listenerUrl(host) : `http://${host}:${listenAt(host)}`
    urls.set(host, url)
    return url
  }

  function isCovered(host: string): boolean {
    return host === '127.0.0.1' || host === config.host || EVERYWHERE.includes(config.host)
  }
  function listenerUrl(host: string): string {
    return host === '127.0.0.1' ? listeners.localUrls.backend : `http://${host}:${listeners.ports.backend}`
  }
  function listenAt(host: string): number {
    const known = readPorts(file)
    const own = typeof known === 'number' ? known : known[host]
    const port = listeners.listenForAgents(host, [...(own ? [own] : []), listeners.ports.backend, 0])
    const others = typeof known === 'number' ? {} : known
    writeFileSync(file, JSON.stringify({ ...others, [host]: port }), { mode: 0o600 })
    return port
  }
}

const Port = z.number().int().min(1).max(65_535)
/** By address. A number alone is that of the only door there was. */
const Ports = z.union([z.record(z.string(), Port), Port]).catch({})

function readPorts(file: string): z.infer<typeof Ports> {
  try {
    const text: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return Ports.parse(text)
  } catch {
    return {}
  }
}
