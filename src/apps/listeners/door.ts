import type { Tunnel } from '../../adapters/gateways/tunnel.ts'
import type { UnderWay } from '../../features/views/watching/exposition.ts'

type Server = Bun.Server<Tunnel>

/** A port that can be shut and opened again. Requests, streams and WebSockets under way live on through both. */
export type Door = {
  port: number
  /** What is under way, through a door that was shut as well. */
  countUnderWay(): UnderWay
  /** Connections that wait for nothing are closed, new ones refused. */
  shut(): void
  /** Listens at the same port again, unless it does already. @throws StartupError when another program took it. */
  reopen(): void
  /** Refuses new connections and waits for what is under way. */
  stop(): Promise<void>
  /** Ends what is under way. */
  end(): Promise<void>
}

/** Opens a door by `listen`, which is called again with the port that it got whenever the door is reopened. */
export function openDoor(listen: (port: number) => Server, wantedPort: number): Door {
  let server: Server | null = listen(wantedPort)
  const port = server.port ?? 0
  /** Those that listen no longer, each until the last of its connections is gone. */
  const retired = new Map<Server, Promise<void>>()
  const shut = () => {
    if (!server) return
    const former = server
    server = null
    retired.set(
      former,
      former.stop().then(() => void retired.delete(former)),
    )
  }
  return {
    port,
    countUnderWay() {
      const servers = [...retired.keys(), ...(server ? [server] : [])]
      return {
        requests: servers.reduce((sum, { pendingRequests }) => sum + pendingRequests, 0),
        webSockets: servers.reduce((sum, { pendingWebSockets }) => sum + pendingWebSockets, 0),
      }
    },
    shut,
    reopen() {
      server ??= listen(port)
    },
    async stop() {
      shut()
      await Promise.all(retired.values())
    },
    async end() {
      shut()
      await Promise.all([...retired.keys()].map((former) => former.stop(true)))
    },
  }
}
