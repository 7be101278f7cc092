import type { Tunnel } from '../../adapters/gateways/tunnel.ts'
import type { UnderWay } from '../../features/monitoring/prometheus/registry.ts'

/** An open port. */
export type Door = {
  port: number
  countUnderWay(): UnderWay
  /** Stops accepting connections and waits for open requests, streams and WebSockets. */
  stop(): Promise<void>
  /** Closes every connection. */
  end(): Promise<void>
}

export function openDoor(server: Bun.Server<Tunnel>): Door {
  const port = server.port ?? 0
  return {
    port,
    countUnderWay: () => ({ requests: server.pendingRequests, webSockets: server.pendingWebSockets }),
    stop: () => server.stop(),
    end: () => server.stop(true),
  }
}
