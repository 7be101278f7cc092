import { expect, onTestFinished, test } from 'bun:test'
import net from 'node:net'
import type { Network } from '../../../src/adapters/egress/egress.ts'
import { createForwardProxy } from '../../../src/adapters/egress/proxy/forward-proxy.ts'
import { createLog } from '../../../src/core/log.ts'
import { isPrivateAllowed, judgeDestination } from '../../../src/features/agents/egress/policy.ts'
import { ADDRESSES, BYPASS_FORMS } from './bypass-forms.ts'
import { clientHello } from './client-hello.ts'
import { PUBLIC } from './internet.ts'

const LIST = { policy: 'allow-list', allow: ['allowed.example', '*.wild.example', 'raw.example:8443'] } as const
const OPEN = { policy: 'open', allow: [] } as const
const NONE = { policy: 'none', allow: [] } as const
const PASSWORD = 'egr_secret'
const AUTH = Buffer.from(`agent:${PASSWORD}`).toString('base64')
const SETTLE_MS = 300

/** Starts a proxy in a network in which `PUBLIC` is a recording server and every other address is a canary. */
async function openProxy(policy: Parameters<typeof judgeDestination>[0] = LIST) {
  const received: string[] = []
  const origin = await listen((socket) => {
    const index = received.push('') - 1
    socket.on('data', (chunk) => {
      received[index] += chunk.toString('latin1')
      if (received[index]?.includes('\r\n\r\n')) socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
      else socket.write('hello')
    })
  })
  let canaryHits = 0
  const canary = await listen((socket) => {
    canaryHits += 1
    socket.destroy()
  })
  const asked: string[] = []
  const network: Network = {
    async resolve(name) {
      asked.push(name)
      return (ADDRESSES[name] ?? ['203.0.114.1']).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    },
    route: ({ address }) => ({
      address: { address: '127.0.0.1', family: 4 },
      port: address === PUBLIC ? origin : canary,
    }),
  }
  const blocked: string[] = []
  const proxy = createForwardProxy({
    network,
    log: createLog('silent'),
    rules: {
      findAgent: ({ user, password }) => (user === 'agent' && password === PASSWORD ? 'agent' : null),
      judge: (_agentId, host, port) => judgeDestination(policy, host, port),
      mayBePrivate: (host, port) =>
        isPrivateAllowed({ byDefault: 'open', byTemplate: new Map(), privateHosts: [] }, host, port),
      noteAllowed: () => {},
      noteBlocked: (_agentId, { host, port, reason }) => void blocked.push(`${host}:${port} ${reason}`),
    },
  })
  const port = await proxy.listen('127.0.0.1', 0)
  onTestFinished(() => proxy.close())
  return { port, received, blocked, asked, canaryHits: () => canaryHits }
}

async function listen(accept: (socket: net.Socket) => void): Promise<number> {
  const server = net.createServer((socket) => {
    socket.on('error', () => socket.destroy())
    accept(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}

/**
 * Sends raw bytes, and `inside` when the tunnel is open. @returns the bytes received until the end or a short timeout.
 */
async function send(port: number, first: string, inside?: Buffer | string): Promise<string> {
  const socket = net.connect(port, '127.0.0.1')
  let answer = ''
  const ended = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    const isOpened = answer === '' && chunk.toString('latin1').startsWith('HTTP/1.1 200 Connection')
    answer += chunk.toString('latin1')
    if (isOpened && inside) socket.write(inside)
  })
  // Some texts contain the raw bytes of a ClientHello.
  socket.write(Buffer.from(first.replaceAll('{auth}', AUTH), isLatin1(first) ? 'latin1' : 'utf8'))
  await Promise.race([ended, Bun.sleep(SETTLE_MS)])
  socket.destroy()
  return answer
}

function isLatin1(text: string): boolean {
  return [...text].every((character) => character.charCodeAt(0) < 256)
}

const TLS = clientHello({ names: ['allowed.example'] })

test('the proxy forwards TLS and plain HTTP to an allowed host', async () => {
  const { port, received } = await openProxy()
  const head = `CONNECT allowed.example:443 HTTP/1.1\r\nProxy-Authorization: Basic {auth}\r\n\r\n`
  expect(await send(port, head, TLS)).toContain('200 Connection established\r\n\r\nhello')
  expect(received[0]).toBe(TLS.toString('latin1'))
  const small = clientHello({ names: ['OK.wild.example.'], recordBytes: 7 })
  expect(await send(port, head.replace('allowed', 'ok.wild'), small)).toContain('hello')
  const plain = `POST http://allowed.example/a?b=1 HTTP/1.1\r\nHost: allowed.example\r\nProxy-Authorization: Basic {auth}\r\nConnection: x-a\r\nX-A: 1\r\nX-B: 2\r\nContent-Length: 4\r\n\r\ntext`
  expect(await send(port, plain)).toStartWith('HTTP/1.1 200 OK')
  expect(received.at(-1)).toBe(
    'POST /a?b=1 HTTP/1.1\r\nhost: allowed.example\r\nx-b: 2\r\ncontent-length: 4\r\nconnection: close\r\n\r\ntext',
  )
})

test('the proxy forwards another protocol to a host that is listed with its port, and with an open policy', async () => {
  const listed = await openProxy()
  const to = (authority: string) => `CONNECT ${authority} HTTP/1.1\r\nProxy-Authorization: Basic {auth}\r\n\r\n`
  expect(await send(listed.port, to('raw.example:8443'), 'SSH-2.0-x')).toEndWith('hello')
  const open = await openProxy(OPEN)
  expect(await send(open.port, to('allowed.example:22'), 'SSH-2.0-x')).toEndWith('hello')
  expect(await send(open.port, to('allowed.example:443'), clientHello({ names: ['evil.example'] }))).not.toContain(
    'hello',
  )
  expect(open.blocked).toEqual(['allowed.example:443 name'])
})

test('the proxy returns 407 without credentials, and 403 for a refused destination, which it does not resolve', async () => {
  const { port, asked, blocked } = await openProxy()
  expect(await send(port, 'GET http://allowed.example/ HTTP/1.1\r\n\r\n')).toContain(
    '407 Proxy Authentication Required',
  )
  const refused = await send(
    port,
    'GET http://c2VjcmV0.evil.example/ HTTP/1.1\r\nProxy-Authorization: Basic {auth}\r\n\r\n',
  )
  expect(refused).toContain('403 Forbidden')
  expect(refused).toContain('"code":"EGRESS_BLOCKED"')
  expect([asked, blocked]).toEqual([[], ['c2VjcmV0.evil.example:80 policy'.toLowerCase()]])
})

test(`the proxy with an allow list forwards none of ${BYPASS_FORMS.length} bypass forms`, async () => {
  const { port, received, canaryHits } = await openProxy()
  const through: string[] = []
  for (let at = 0; at < BYPASS_FORMS.length; at += 20) {
    await Promise.all(BYPASS_FORMS.slice(at, at + 20).map(({ first, inside }) => send(port, first, inside)))
  }
  for (const bytes of received) if (/evil/i.test(bytes)) through.push(bytes)
  expect(BYPASS_FORMS.length).toBeGreaterThan(100)
  expect({ through, canaryHits: canaryHits() }).toEqual({ through: [], canaryHits: 0 })
})

test('the proxy with the policy none forwards nothing and resolves no name', async () => {
  const { port, received, asked, canaryHits } = await openProxy(NONE)
  for (let at = 0; at < BYPASS_FORMS.length; at += 40) {
    await Promise.all(BYPASS_FORMS.slice(at, at + 40).map(({ first, inside }) => send(port, first, inside)))
  }
  expect({ received, asked, canaryHits: canaryHits() }).toEqual({ received: [], asked: [], canaryHits: 0 })
})
