import { StartupError } from '../core/errors.ts'
import { clientAddress, parseRanges } from '../http/address.ts'
import { MAX_COMPLETION_BODY_BYTES } from '../http/body.ts'
import type { Face } from '../http/env.ts'
import type { App } from './app.ts'

export type ListenOptions = { host: string; ports: Record<Face, number>; trustedProxies: readonly string[] }

export type Listeners = {
  ports: Record<Face, number>
  /** As people write them; `localUrls` always lead to this machine. */
  urls: Record<Face, string>
  localUrls: Record<Face, string>
  /** Refuses new connections and waits for requests under way, at most 10 s. */
  stop(): Promise<void>
}

const FACES = ['web', 'backend', 'summarizer'] as const
/** The app answers 413 by itself; this bound is for what never reaches it. */
const MAX_BODY_BYTES = MAX_COMPLETION_BODY_BYTES + 64 * 1024
/** For headers and bodies that trickle in. Handlers get longer. */
const IDLE_SECONDS = 10
const HANDLER_SECONDS = 180
const DRAIN_MS = 10_000

/**
 * Binds the three ports. Until `getApp` has an app, requests get 503: a taken port is found before anything is started.
 * @throws StartupError naming the setting of a port that is taken.
 */
export function listen(getApp: () => App | null, options: ListenOptions): Listeners {
  const stopping = new AbortController()
  const servers: Partial<Record<Face, Bun.Server<undefined>>> = {}
  try {
    for (const face of FACES) servers[face] = listenOn(getApp, face, options, stopping.signal)
  } catch (error) {
    for (const server of Object.values(servers)) void server.stop(true)
    throw error
  }
  const ports = mapFaces((face) => servers[face]?.port ?? 0)
  const shownHost =
    options.host === '127.0.0.1' || options.host === '0.0.0.0' || options.host === '::' ? 'localhost' : options.host
  const localHost = options.host === '0.0.0.0' || options.host === '::' ? '127.0.0.1' : options.host
  return {
    ports,
    urls: mapFaces((face) => `http://${shownHost}:${ports[face]}`),
    localUrls: mapFaces((face) => `http://${localHost}:${ports[face]}`),
    async stop() {
      stopping.abort()
      // An agent in the middle of a turn still calls the backend: that one goes when nobody waits for a turn any more.
      const drained = Promise.all([servers.web?.stop(), servers.summarizer?.stop()]).then(() => servers.backend?.stop())
      await Promise.race([drained, Bun.sleep(DRAIN_MS)])
      await Promise.all(Object.values(servers).map((server) => server.stop(true)))
    },
  }
}

function listenOn(
  getApp: () => App | null,
  face: Face,
  { host, ports, trustedProxies }: ListenOptions,
  stopping: AbortSignal,
): Bun.Server<undefined> {
  const trusted = parseRanges(trustedProxies)
  try {
    return Bun.serve({
      hostname: host,
      port: ports[face],
      idleTimeout: IDLE_SECONDS,
      maxRequestBodySize: MAX_BODY_BYTES,
      fetch(request, server) {
        const app = getApp()
        if (!app) return Response.json({ error: 'Starting' }, { status: 503, headers: { 'retry-after': '1' } })
        if (request.method !== 'GET') server.timeout(request, HANDLER_SECONDS)
        return app.fetch(request, {
          face,
          // Few requests ask, and finding it out costs as much as routing.
          get address() {
            const socketAddress = server.requestIP(request)?.address ?? null
            const forwardedFor = trusted.length > 0 ? request.headers.get('x-forwarded-for') : null
            return socketAddress && clientAddress(socketAddress, forwardedFor, trusted)
          },
          keepOpen: (open: Request) => server.timeout(open, 0),
          stopping,
        })
      },
    })
  } catch (error) {
    throw new StartupError(`${face.toUpperCase()}_PORT: cannot listen on ${host}:${ports[face]} (already in use?)`, {
      cause: error,
    })
  }
}

function mapFaces<T>(toValue: (face: Face) => T): Record<Face, T> {
  return { web: toValue('web'), backend: toValue('backend'), summarizer: toValue('summarizer') }
}
