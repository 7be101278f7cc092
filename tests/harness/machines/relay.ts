import { connect, createServer, type Socket } from 'node:net'

/** Forwards `host` to a service on this machine's loopback interface. @returns its URL there. */
export async function relayFrom(host: string, url: string): Promise<AsyncDisposable & { url: string }> {
  const { port, pathname } = new URL(url)
  const sockets = new Set<Socket>()
  const keep = (socket: Socket, other: Socket) => {
    sockets.add(socket)
    socket.on('error', () => other.destroy())
    socket.on('close', () => {
      sockets.delete(socket)
      other.destroy()
    })
  }
  const server = createServer((client) => {
    const service = connect(Number(port), '127.0.0.1')
    keep(client, service)
    keep(service, client)
    client.pipe(service).pipe(client)
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const address = server.address()
  const ownPort = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://${host}:${ownPort}${pathname === '/' ? '' : pathname}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
