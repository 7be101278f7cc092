import { expect, test } from 'bun:test'
import { until } from '../../harness/until.ts'
import { openAgentProxy, startSocketDouble } from './open-agent-proxy.ts'

type Message = string | Buffer

/** Records the messages and the close event of a WebSocket. */
function listen(socket: WebSocket) {
  const messages: Message[] = []
  const ended = Promise.withResolvers<{ code: number; reason: string }>()
  const opened = Promise.withResolvers<void>()
  socket.onmessage = ({ data }) => void messages.push(data)
  socket.onclose = ({ code, reason }) => ended.resolve({ code, reason })
  socket.onopen = () => opened.resolve()
  return { messages, ended: ended.promise, opened: opened.promise }
}

/** An agent that sends a greeting, then echoes every message. */
const echo = (protocol = '') =>
  startSocketDouble({
    protocol,
    open: (socket) => void socket.send(`hello ${socket.data.path}`),
    message: (socket, message) => void socket.send(message),
  })

test('WebSockets forward text and bytes in both directions, in order, from the agent’s first message', async () => {
  using agent = echo()
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const socket = agentProxy.connect('ada', '/ws?session=1')
  const { messages, opened } = listen(socket)
  await opened
  const sent: Message[] = ['words', Buffer.from([0, 255, 1]), '', Buffer.alloc(3_000_000, 'x'), 'ünïcode 🦀']
  for (const message of sent) socket.send(message)
  await until('all answers', () => messages.length === sent.length + 1)
  expect(messages).toEqual(['hello /ws?session=1', ...sent])
  socket.close()
})

test('a WebSocket has the subprotocol that the agent selects, and its handshake has no cookie of the dashboard', async () => {
  let seen = new Headers()
  using agent = startSocketDouble({
    protocol: 'v2',
    open: (socket) => {
      seen = socket.data.headers
    },
  })
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const socket = agentProxy.connect('ada', '/', {
    protocols: ['v1', 'v2'],
    headers: {
      cookie: 'service-session=secret; own=1',
      authorization: 'Bearer gw_1',
      origin: 'http://ada.agents.localhost:3000',
      'x-forwarded-for': '203.0.113.9',
    },
  })
  await listen(socket).opened
  expect(socket.protocol).toBe('v2')
  expect(Object.fromEntries(seen)).toMatchObject({
    host: 'ada.agents.localhost',
    cookie: 'own=1',
    authorization: 'Bearer gw_1',
    origin: 'http://ada.agents.localhost:3000',
    'x-forwarded-for': '127.0.0.1',
    'sec-websocket-protocol': 'v1, v2',
  })
  socket.close()
})

test.each([1000, 1001, 1011, 3000, 4001])('a WebSocket is closed with %i when the agent closes it so', async (code) => {
  using agent = startSocketDouble({ message: (socket) => socket.close(code, 'because') })
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const socket = agentProxy.connect('ada', '/')
  const { opened, ended } = listen(socket)
  await opened
  socket.send('close')
  expect(await ended).toEqual({ code, reason: 'because' })
})

test.each([1000, 1001, 3000, 4001])(
  'a WebSocket is closed with %i at the agent when the caller closes it so',
  async (code) => {
    const closed = Promise.withResolvers<{ code: number; reason: string }>()
    using agent = startSocketDouble({ close: (code, reason) => closed.resolve({ code, reason }) })
    await using agentProxy = await openAgentProxy()
    await agentProxy.add('ada', agent.port)
    const socket = agentProxy.connect('ada', '/')
    await listen(socket).opened
    socket.close(code, 'bye')
    expect(await closed.promise).toEqual({ code, reason: 'bye' })
  },
)

test('a WebSocket ends on both sides when one connection breaks', async () => {
  const closed = Promise.withResolvers<number>()
  using agent = startSocketDouble({
    message: (socket) => socket.terminate(),
    close: (code) => closed.resolve(code),
  })
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const broken = agentProxy.connect('ada', '/')
  const { opened, ended } = listen(broken)
  await opened
  broken.send('break')
  expect((await ended).code).toBe(1006)
  await closed.promise

  const leaving = agentProxy.connect('ada', '/')
  await listen(leaving).opened
  leaving.terminate()
  expect(await closed.promise).toBe(1006)
})

test('a handshake fails when an agent refuses or does not run, and a plain request returns the reason', async () => {
  using agent = echo()
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  await agentProxy.add('gone', 1)
  await agentProxy.add('idle', 2, 'stopped')
  const handshake = {
    headers: {
      upgrade: 'websocket',
      connection: 'upgrade',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
    },
  }
  const statusOf = async (id: string, path: string) => {
    const status = Promise.withResolvers<string>()
    const socket = await Bun.connect({
      hostname: '127.0.0.1',
      port: agentProxy.listeners.ports.web,
      socket: { data: (_self, bytes) => status.resolve(bytes.toString().split('\r\n')[0] ?? '') },
    })
    const lines = Object.entries(handshake.headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET ${path} HTTP/1.1\r\nhost: ${agentProxy.host(id)}\r\n${lines.join('')}\r\n`)
    const line = await status.promise
    socket.terminate()
    return line
  }
  expect(await statusOf('ada', '/')).toBe('HTTP/1.1 101 Switching Protocols')
  expect(await statusOf('ada', '/refused')).toBe('HTTP/1.1 502 Bad Gateway')
  expect(await statusOf('gone', '/')).toBe('HTTP/1.1 502 Bad Gateway')
  expect(await statusOf('idle', '/')).toBe('HTTP/1.1 503 Service Unavailable')
  expect(await statusOf('nobody', '/')).toBe('HTTP/1.1 404 Not Found')
})

test('the web app itself accepts no WebSocket', async () => {
  await using agentProxy = await openAgentProxy()
  const socket = new WebSocket(`${agentProxy.web.replace('http', 'ws')}/api/health`)
  const { ended } = listen(socket)
  expect((await ended).code).toBe(1006)
})

test('a client that does not read is disconnected, and its buffer is limited', async () => {
  const closed = Promise.withResolvers<void>()
  const piece = Buffer.alloc(1024 * 1024)
  let sent = 0
  using agent = startSocketDouble({
    open: (socket) => {
      const timer = setInterval(() => {
        if (socket.readyState !== WebSocket.OPEN) return clearInterval(timer)
        if (socket.getBufferedAmount() < piece.length) sent += socket.send(piece) === 0 ? 0 : 1
      }, 1)
    },
    close: () => closed.resolve(),
  })
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: agentProxy.listeners.ports.web,
    socket: { data: (self) => void self.pause() },
  })
  socket.write(
    `GET / HTTP/1.1\r\nhost: ${agentProxy.host('ada')}\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n`,
  )
  await closed.promise
  expect(sent).toBeLessThan(64)
  socket.terminate()
})

test('an agent that does not read is disconnected', async () => {
  // Completes the handshake, then stops reading.
  using agent = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, bytes) {
        const key = /sec-websocket-key: (\S+)/i.exec(bytes.toString())?.[1]
        if (!key) return
        const accept = Bun.CryptoHasher.hash('sha1', `${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`, 'base64')
        socket.write(
          `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
        )
        socket.pause()
      },
    },
  })
  await using agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const socket = agentProxy.connect('ada', '/')
  const { opened, ended } = listen(socket)
  await opened
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  const piece = Buffer.alloc(1024 * 1024)
  let pieces = 0
  await until('the end', () => {
    if (isOver) return true
    if (socket.bufferedAmount < piece.length) {
      socket.send(piece)
      pieces += 1
    }
    return false
  })
  expect(pieces).toBeLessThan(80)
})

test('a stop ends WebSockets with 1001', async () => {
  using agent = echo()
  const agentProxy = await openAgentProxy()
  await agentProxy.add('ada', agent.port)
  const { opened, ended } = listen(agentProxy.connect('ada', '/'))
  await opened
  const stopping = agentProxy.listeners.stop()
  expect(await ended).toEqual({ code: 1001, reason: 'The service is stopping' })
  await stopping
})
