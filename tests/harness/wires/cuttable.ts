import { connect, createServer, type Socket } from 'node:net'

/** Starts a TCP proxy to `port` on loopback whose connections can be cut. */
export async function openCuttableProxy(port: number) {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((client) => {
    if (isCut) {
      client.resetAndDestroy()
      return
    }
    const there = connect(port, '127.0.0.1')
    for (const socket of [client, there]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        there.destroy()
      })
    }
    client.pipe(there)
    there.pipe(client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const cut = () => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    /** Closes all connections and rejects new ones. */
    cut,
    mend() {
      isCut = false
    },
    async [Symbol.asyncDispose]() {
      cut()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
