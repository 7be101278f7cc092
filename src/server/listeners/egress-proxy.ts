import { join } from 'node:path'
import { createForwardProxy, type ProxyRules } from '../../adapters/egress/proxy/forward-proxy.ts'
import type { Runtime } from '../../adapters/runtimes/contract/runtime.ts'
import { AppError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { readPorts, writePort } from './agent-ports.ts'

type Deps = {
  dataDir: string
  log: Log
  /** Returns the rules of the open installation; undefined while it is opened. */
  getRules: () => ProxyRules | undefined
}

/**
 * The egress proxy of agents. It listens at the address of each runtime, on a port that it remembers: a new port would
 * require restarting every agent.
 */
export function createEgressProxyListener({ dataDir, log, getRules }: Deps) {
  const proxy = createForwardProxy({ rules: toLateRules(getRules), log })
  const urls = new Map<string, Promise<string>>()
  const file = join(dataDir, 'egress.port')

  const open = async (host: string): Promise<string> => {
    const known = readPorts(file)[host]
    const port = await listenOnFirst(proxy, host, known)
    writePort(file, host, port)
    return `http://${host}:${port}`
  }
  return {
    /** Returns the proxy's URL for the agents of a runtime. @throws AppError `internal` when it cannot listen there. */
    async urlFor(runtime: Pick<Runtime, 'platformHost'>): Promise<string> {
      const host = await runtime.platformHost()
      const url = urls.get(host) ?? open(host)
      urls.set(host, url)
      url.catch(() => urls.delete(host))
      return url
    },
    close: proxy.close,
  }
}

/** The address that agents use may belong to a router; the proxy then listens on all addresses, as it asks for a password. */
async function listenOnFirst(
  proxy: Pick<ReturnType<typeof createForwardProxy>, 'listen'>,
  host: string,
  known = 0,
): Promise<number> {
  let cause: unknown
  for (const address of [host, '0.0.0.0']) {
    for (const port of new Set([known, 0])) {
      try {
        return await proxy.listen(address, port)
      } catch (error) {
        cause = error
      }
    }
  }
  throw new AppError('internal', 'Agents have no way to reach the egress proxy', {}, { cause })
}

/** Refuses every request while the installation is opened. */
function toLateRules(getRules: () => ProxyRules | undefined): ProxyRules {
  return {
    findAgent: (credentials) => getRules()?.findAgent(credentials) ?? null,
    judge: (...destination) => getRules()?.judge(...destination) ?? { isAllowed: false },
    mayBePrivate: (...destination) => getRules()?.mayBePrivate(...destination) ?? false,
    noteAllowed: (agentId) => getRules()?.noteAllowed(agentId),
    noteBlocked: (...blocked) => getRules()?.noteBlocked(...blocked),
  }
}
