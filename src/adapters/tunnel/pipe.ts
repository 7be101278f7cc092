import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/**
 * Connects two byte streams in both directions; each direction ends on its own. When one stream breaks, the other is
 * destroyed; `whenCut` replaces that for `one`.
 */
export function join(one: Duplex, other: Duplex, whenCut: () => void = () => one.destroy()): void {
  one.pipe(other)
  other.pipe(one)
  const follow = (from: Duplex, cut: () => void) => {
    from.on('error', cut)
    from.on('close', () => {
      if (!from.readableEnded || !from.writableFinished) cut()
    })
  }
  follow(one, () => other.destroy())
  follow(other, whenCut)
}

/** Connects to a server of this machine and joins the connection with `stream`. */
export function joinWithServer(stream: Duplex, { host, port }: { host: string; port: number }): void {
  const socket = connect({ host, port, allowHalfOpen: true })
  socket.setNoDelay(true)
  join(stream, socket)
}

const LINGER_MS = 1000

/** An open port on the loopback address. */
export type LocalPort = { port: number; close(): void }

/** Accepts connections on a free port of 127.0.0.1. */
export function listenLocally(accept: (socket: Socket) => void): Promise<LocalPort> {
  const { promise, resolve, reject } = Promise.withResolvers<LocalPort>()
  const sockets = new Set<Socket>()
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    socket.setNoDelay(true)
    accept(socket)
  })
  server.once('error', reject)
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    if (address === null || typeof address === 'string') return reject(new Error('The listener has no port'))
    const close = () => {
      server.close()
      // Answers that are being sent still arrive.
      setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, LINGER_MS).unref()
    }
    resolve({ port: address.port, close })
  })
  return promise
}
