import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createServer } from 'node:tls'

const FIXTURES = join(import.meta.dir, '..', '..', 'fixtures', 'tls')

/** Starts a TLS-terminating proxy with a self-signed certificate. */
export async function startTlsFront(url: string): Promise<{ port: number } & Disposable> {
  const server = createServer(
    { key: readFileSync(join(FIXTURES, 'key.pem')), cert: readFileSync(join(FIXTURES, 'cert.pem')) },
    (socket) => {
      const inner = connect(Number(new URL(url).port), '127.0.0.1')
      socket.pipe(inner).pipe(socket)
      socket.on('error', () => inner.destroy())
      inner.on('error', () => socket.destroy())
    },
  )
  // Browsers abort handshakes that they no longer need.
  server.on('tlsClientError', () => undefined)
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : 0)
    })
  })
  return { port, [Symbol.dispose]: () => void server.close() }
}
