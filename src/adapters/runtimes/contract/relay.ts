import { createServer, type Server, type Socket } from 'node:net'
import { portTaken } from './runtime.ts'

/** Connects to an agent; null when it cannot be reached. */
type ConnectToAgent = () => Promise<Socket | null>

/** Ports of this machine that lead to agents without one of their own. */
export type Relays = {
  /**
   * Passes connections to 127.0.0.1:`port` on to the agent, also after its restart.
   * @throws AppError `conflict` {code: 'PORT_TAKEN'}.
   */
  open(agentId: string, port: number): Promise<void>
  close(agentId: string): void
  closeAll(): void
}

type OpenRelay = { port: number; server: Server; sockets: Set<Socket> }

export function createRelays(connectTo: (agentId: string) => Promise<Socket | null>): Relays {
  const relays = new Map<string, OpenRelay>()
  const close = (agentId: string) => {
    const relay = relays.get(agentId)
    relays.delete(agentId)
    relay?.server.close()
    for (const socket of relay?.sockets ?? []) socket.destroy()
  }
  return {
    close,
    closeAll() {
      for (const agentId of [...relays.keys()]) close(agentId)
    },
    async open(agentId, port) {
      if (relays.get(agentId)?.port === port) return
      close(agentId)
      const sockets = new Set<Socket>()
      const server = await listen(port, (client) => {
        sockets.add(client)
        client.on('close', () => sockets.delete(client))
        void passOn(client, () => connectTo(agentId))
      })
      relays.set(agentId, { port, server, sockets })
    },
  }
}

function listen(port: number, accept: (client: Socket) => void): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, accept)
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? portTaken(port) : error),
    )
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(server))
  })
}

/** Connects a paused client and what `connect` returns until one of them ends. */
export async function passOn(client: Socket, connect: ConnectToAgent): Promise<void> {
  client.on('error', () => client.destroy())
  const agent = await connect().catch(() => null)
  if (agent === null || client.destroyed) {
    agent?.destroy()
    client.destroy()
    return
  }
  agent.on('error', () => client.destroy())
  agent.on('close', () => client.destroySoon())
  client.on('close', () => agent.destroySoon())
  client.pipe(agent)
  agent.pipe(client)
}
