import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Runtime } from '../../adapters/runtimes/contract/runtime.ts'
import type { Config } from '../../core/config.ts'
import type { Listeners } from './listen.ts'

const EVERYWHERE = ['0.0.0.0', '::']

/** Returns the address at which agents of a runtime call the platform. */
export type AgentDoor = (runtime: Pick<Runtime, 'platformHost'>) => Promise<string>

/**
 * Finds the address at which agents call the platform. Opens an extra listener when agents cannot reach the regular
 * ones, and remembers its port: a new port would require restarting every agent.
 */
export function createAgentListener({
  config,
  listeners,
}: {
  config: Pick<Config, 'host' | 'dataDir'>
  listeners: Pick<Listeners, 'ports' | 'localUrls' | 'listenForAgents'>
}): AgentDoor {
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
/** Ports by address; a bare number is the format of an older version with one listener. */
const Ports = z.union([z.record(z.string(), Port), Port]).catch({})

function readPorts(file: string): z.infer<typeof Ports> {
  try {
    const text: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return Ports.parse(text)
  } catch {
    return {}
  }
}
