import { onTestFinished } from 'bun:test'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import type { ResolvedAddress } from '../../../src/adapters/egress/connect.ts'
import type { Network } from '../../../src/adapters/egress/egress.ts'

/** An address that counts as public. */
export const PUBLIC = '93.184.215.14'
export const PUBLIC_V6 = '2606:2800:21f:cb07:6820:80da:af6b:8b2c'

type Handler = (request: http.IncomingMessage, response: http.ServerResponse) => void

/**
 * Creates a network for one test. Public addresses lead to a server that responds with `handler`; all other addresses
 * lead to the canary, which no request may reach. `resolve` replaces DNS.
 */
export async function openInternet(options: {
  handler?: Handler
  resolve?: (hostname: string) => string[]
  tls?: { key: string; cert: string }
}) {
  const handler: Handler = options.handler ?? ((_request, response) => response.end('public'))
  const server = options.tls ? https.createServer(options.tls, handler) : http.createServer(handler)
  let canaryHits = 0
  const canary = net.createServer((socket) => {
    canaryHits++
    socket.destroy()
  })
  const [serverPort, canaryPort] = await Promise.all([listenOn(server), listenOn(canary)])
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    canary.close()
  })

  const dialled: string[] = []
  const asked: string[] = []
  const network: Network = {
    async resolve(hostname) {
      asked.push(hostname)
      const addresses = options.resolve?.(hostname) ?? [PUBLIC]
      if (addresses.length === 0) throw new Error(`getaddrinfo ENOTFOUND ${hostname}`)
      return addresses.map(toResolved)
    },
    route({ address }) {
      dialled.push(address)
      const isPublic = address === PUBLIC || address === PUBLIC_V6
      return { address: toResolved('127.0.0.1'), port: isPublic ? serverPort : canaryPort }
    },
    ...(options.tls ? { ca: options.tls.cert } : {}),
  }
  return { network, dialled, asked, server, serverPort, canaryPort, canaryHits: () => canaryHits }
}

function toResolved(address: string): ResolvedAddress {
  return { address, family: address.includes(':') ? 6 : 4 }
}

function listenOn(server: net.Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : 0)
    })
  })
}
