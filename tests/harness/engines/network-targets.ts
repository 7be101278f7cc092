import { createSocket } from 'node:dgram'
import { createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { createForwardProxy } from '../../../src/adapters/egress/proxy/forward-proxy.ts'
import { createLog } from '../../../src/core/log.ts'
import type { NetworkTargets } from '../programs/network-attempts.ts'

const SECRET = 'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nsecret'
const CREDENTIALS = 'captive:egr_secret'

function serve(where: { host: string; port: number } | { path: string }, answer: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy())
      socket.end(answer)
    })
    server.once('error', reject)
    server.listen(where, () => resolve(server))
  })
}

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}

/** Opens servers of the host that an agent must not reach, a platform, and a proxy that allows one host. */
export async function openNetworkTargets(folder: string) {
  const host = await serve({ host: '::', port: 0 }, SECRET)
  const other = await serve({ host: '127.0.0.1', port: 0 }, SECRET)
  const allowed = await serve({ host: '127.0.0.1', port: 0 }, 'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nallowed')
  const platform = await serve(
    { host: '127.0.0.1', port: 0 },
    'HTTP/1.1 200 OK\r\ncontent-length: 8\r\nconnection: close\r\n\r\nplatform',
  )
  const hostSocket = `${folder}/host.sock`
  const unix = await serve({ path: hostSocket }, SECRET)
  const hostPort = portOf(host)
  const datagrams = createSocket('udp4').on('message', (_text, { port, address }) => {
    datagrams.send('secret', port, address)
  })
  await new Promise<void>((resolve) => datagrams.bind(hostPort, resolve))
  const abstractName = `stead-escape-${process.pid}`
  const listen = `socket(my $s, PF_UNIX, SOCK_STREAM, 0); bind($s, pack("Sa*", AF_UNIX, "\\0${abstractName}")) or exit 1; listen($s, 5); sleep 600`
  const abstract = Bun.spawn(['perl', '-MSocket', '-e', listen], { stdio: ['ignore', 'ignore', 'inherit'] })
  const isAllowed = (name: string, port: number) => name === '127.0.0.1' && port === portOf(allowed)
  const proxy = createForwardProxy({
    log: createLog('silent'),
    rules: {
      findAgent: ({ user, password }) => (`${user}:${password}` === CREDENTIALS ? user : null),
      // Everything is allowed but private addresses and one name.
      judge: (_agentId, name) =>
        name === 'evil.example' ? { isAllowed: false } : { isAllowed: true, isTlsRequired: false },
      mayBePrivate: isAllowed,
      noteAllowed: () => {},
      noteBlocked: () => {},
    },
  })
  const proxyPort = await proxy.listen('127.0.0.1', 0)
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  const targets: NetworkTargets = {
    ...{ hostPort, otherPort: portOf(other), abstractName, hostSocket, credentials: CREDENTIALS },
    hostAddress: own.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.3',
    allowedUrl: `http://127.0.0.1:${portOf(allowed)}/`,
  }
  return {
    targets,
    environment: {
      PLATFORM_URL: `http://127.0.0.1:${portOf(platform)}`,
      EGRESS_PROXY: `http://127.0.0.1:${proxyPort}`,
    },
    async [Symbol.asyncDispose]() {
      abstract.kill()
      datagrams.close()
      for (const server of [host, other, allowed, platform, unix]) server.close()
      await proxy.close()
    },
  }
}
