import { expect, test } from 'bun:test'
import { createLog } from '../../core/log.ts'
import type { ServerSocket } from '../../core/web-socket.ts'
import { createSocketHandlers } from '../gateways/tunnel.ts'
import { keepTunnel, type TunnelEvent } from './dial.ts'
import { CLOSE, type MachineHello } from './hello.ts'
import { createMachineLinks, type LinkTimes } from './links.ts'
import { joinWithServer } from './pipe.ts'

/** Patient, because CI machines are slow. */
const LONG_TIMEOUTS: LinkTimes = { heartbeat: { everyMs: 50, deadMs: 20_000 }, graceMs: 10_000, resumeMs: 30_000 }
/** For tests that wait for a machine to count as offline. */
const QUICK: LinkTimes = { heartbeat: { everyMs: 50, deadMs: 400 }, graceMs: 150, resumeMs: 1500 }

/** Resolves after `ms`, or when `signal` aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  setTimeout(resolve, ms)
  signal.addEventListener('abort', () => resolve(), { once: true })
  return promise
}

/** A gateway with JSON, streamed, uploaded and WebSocket answers. */
function startGateway() {
  const uploads: number[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 30,
    async fetch(request, upgrading) {
      const { pathname } = new URL(request.url)
      if (pathname === '/socket') return upgrading.upgrade(request) ? undefined : new Response(null, { status: 400 })
      if (pathname === '/hang') return new Promise<Response>(() => undefined)
      if (pathname === '/upload') {
        uploads.push((await request.arrayBuffer()).byteLength)
        return Response.json({ bytes: uploads.at(-1) })
      }
      if (pathname === '/slow') {
        const count = Number(new URL(request.url).searchParams.get('count'))
        return new Response(
          (async function* () {
            for (let part = 0; part < count; part++) {
              yield `${part}\n`
              await Bun.sleep(20)
            }
          })(),
        )
      }
      return new Response(Buffer.alloc(2_000_000, 'x'))
    },
    websocket: { message: (socket, message) => void socket.send(message) },
  })
  return { server, uploads, [Symbol.dispose]: () => void server.stop(true) }
}

/** Connects a machine with a gateway to a platform; `breakConnection` closes the WebSocket without a close frame. */
async function connectMachine(times = LONG_TIMEOUTS) {
  const gateway = startGateway()
  const sockets = new Set<ServerSocket>()
  const changes: boolean[] = []
  const access = { isRevoked: false }
  const links = createMachineLinks({
    log: createLog('fatal'),
    version: '0.1.0',
    times,
    onChange: (id) => void changes.push(links.stateOf(id).port !== null),
  })
  const platform = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request, server) {
      const data = links.handlerFor('ins_1', {
        checkVersion: (version) => (version === '9.9.9' ? 'Too new' : null),
        isAuthorized: () => !access.isRevoked,
      })
      return server.upgrade(request, { data }) ? undefined : new Response(null, { status: 400 })
    },
    websocket: createSocketHandlers(sockets),
  })
  const events: TunnelEvent[] = []
  const dial = (version = '0.1.0') => {
    const stopping = new AbortController()
    const port = gateway.server.port ?? 0
    const done = keepTunnel(
      {
        accept: (_target, stream) => joinWithServer(stream, { host: '127.0.0.1', port }),
        report: (event) => void events.push(event),
        afterRefusal: async () => undefined,
        random: () => 0,
        pause: (ms, signal) => pause(Math.min(ms, 200), signal),
        heartbeat: times.heartbeat,
      },
      { url: `ws://127.0.0.1:${platform.port}/`, token: 'agt_1', version },
      stopping.signal,
    )
    return { stopping, done }
  }
  const machine = dial()
  const port = async () => {
    for (let turn = 0; turn < 200; turn++) {
      const found = links.stateOf('ins_1').port
      if (found !== null) return found
      await Bun.sleep(10)
    }
    throw new Error('The machine did not connect')
  }
  return {
    links,
    access,
    gateway,
    events,
    changes,
    machine,
    dial,
    port,
    platformUrl: `ws://127.0.0.1:${platform.port}/`,
    url: async () => `http://127.0.0.1:${await port()}`,
    breakConnection: () => {
      for (const socket of [...sockets]) socket.terminate()
    },
    async [Symbol.asyncDispose]() {
      machine.stopping.abort()
      links.close()
      await machine.done.catch(() => undefined)
      await platform.stop(true)
      gateway[Symbol.dispose]()
    },
  }
}

test('a tunnel carries large answers, uploads and WebSockets', async () => {
  await using world = await connectMachine()
  const url = await world.url()
  const answers = await Promise.all(
    Array.from({ length: 5 }, async () => (await (await fetch(url)).arrayBuffer()).byteLength),
  )
  expect(answers).toEqual(Array(5).fill(2_000_000))
  const upload = await fetch(`${url}/upload`, { method: 'POST', body: Buffer.alloc(3_000_000, 'y') })
  expect(await upload.json()).toEqual({ bytes: 3_000_000 })
  const socket = new WebSocket(`${url.replace('http', 'ws')}/socket`)
  const { promise, resolve } = Promise.withResolvers<unknown>()
  socket.onmessage = ({ data }) => resolve(data)
  socket.onopen = () => socket.send('hello')
  expect(await promise).toBe('hello')
  socket.close()
  await Bun.sleep(120)
  expect(world.links.stateOf('ins_1').latencyMs).toBeGreaterThanOrEqual(0)
})

test('a tunnel delivers each answer once and whole when its connection breaks', async () => {
  await using world = await connectMachine()
  const url = await world.url()
  const answers = Array.from({ length: 8 }, async () => (await fetch(`${url}/slow?count=60`)).text())
  const upload = fetch(`${url}/upload`, { method: 'POST', body: Buffer.alloc(5_000_000, 'z') })
  for (let cut = 0; cut < 5; cut++) {
    await Bun.sleep(150)
    world.breakConnection()
  }
  const expected = Array.from({ length: 60 }, (_, part) => `${part}\n`).join('')
  expect(await Promise.all(answers)).toEqual(Array(8).fill(expected))
  expect(await (await upload).json()).toEqual({ bytes: 5_000_000 })
  expect(world.gateway.uploads).toEqual([5_000_000])
  expect(world.events.filter((event) => event.event === 'tunnel' && event.isResumed).length).toBeGreaterThan(2)
}, 300_000)

test('a tunnel returns 503 when the machine is disconnected, at once for new requests', async () => {
  await using world = await connectMachine()
  const url = await world.url()
  const hanging = fetch(`${url}/hang`)
  await Bun.sleep(50)
  world.machine.stopping.abort()
  const startedAt = performance.now()
  const answer = await hanging
  expect(answer.status).toBe(503)
  expect(await answer.json()).toEqual({ error: { message: 'The machine is offline', code: 'MACHINE_OFFLINE' } })
  expect(performance.now() - startedAt).toBeLessThan(5000)
  expect(() => world.links.openStream('ins_1', 'gateway')).toThrow('The machine is offline')
  expect(world.changes).toEqual([true, false])
})

test('a tunnel returns 503 and marks the machine offline when the machine sends nothing', async () => {
  await using world = await connectMachine(QUICK)
  await world.port()
  world.machine.stopping.abort()
  await world.machine.done
  const silent = new WebSocket(world.platformUrl)
  silent.onopen = () =>
    silent.send(JSON.stringify({ protocol: 1, version: '0.1.0', session: null, received: 0 } satisfies MachineHello))
  const startedAt = performance.now()
  const answer = await fetch(`${await world.url()}/hang`)
  expect(answer.status).toBe(503)
  expect(world.links.stateOf('ins_1').port).toBeNull()
  expect(performance.now() - startedAt).toBeLessThan(QUICK.heartbeat.deadMs + QUICK.graceMs + 5000)
  silent.close()
})

test('a tunnel closes the connection when the first message is no hello', async () => {
  await using world = await connectMachine()
  await world.port()
  const codes = await Promise.all(
    ['{', '{}', Buffer.alloc(20)].map(async (message) => {
      const socket = new WebSocket(world.platformUrl)
      socket.onopen = () => socket.send(message)
      const { promise, resolve } = Promise.withResolvers<number>()
      socket.onclose = ({ code }) => resolve(code)
      return promise
    }),
  )
  expect(codes).toEqual([CLOSE.invalid, CLOSE.invalid, CLOSE.invalid])
  expect(world.links.stateOf('ins_1').port).not.toBeNull()
})

test("a tunnel ends the machine's process with the reason when its version is refused", async () => {
  await using world = await connectMachine()
  await world.port()
  await expect(world.dial('9.9.9').done).rejects.toMatchObject({ kind: 'conflict', message: 'Too new' })
})

test('a tunnel accepts a second process with the same credentials and ends the first, which reports it', async () => {
  await using world = await connectMachine()
  await world.port()
  const second = world.dial()
  for (let turn = 0; turn < 100 && !world.events.some(({ event }) => event === 'reconnecting'); turn++)
    await Bun.sleep(10)
  expect(world.events.find(({ event }) => event === 'reconnecting')).toMatchObject({
    error: 'Another process connected with these credentials',
  })
  second.stopping.abort()
  await second.done
})

test('remove ends the tunnel of a machine, which does not reconnect', async () => {
  await using world = await connectMachine()
  await world.port()
  world.links.remove('ins_1')
  await expect(world.machine.done).rejects.toMatchObject({ kind: 'unauthenticated' })
  expect(world.links.stateOf('ins_1').port).toBeNull()
})

test('endUnauthorized ends the tunnel of a revoked credential, with its port, and no other', async () => {
  await using world = await connectMachine()
  const port = await world.port()
  world.links.endUnauthorized()
  expect(world.links.stateOf('ins_1').port).toBe(port)
  world.access.isRevoked = true
  world.links.endUnauthorized()
  await expect(world.machine.done).rejects.toMatchObject({
    kind: 'unauthenticated',
    message: 'The credentials of this machine were revoked',
  })
  expect(world.links.stateOf('ins_1').port).toBeNull()
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow()
})

test('a session takes at most 256 streams; a further one is unavailable', async () => {
  await using world = await connectMachine()
  await world.port()
  const streams = Array.from({ length: 256 }, () => world.links.openStream('ins_1', 'gateway'))
  expect(() => world.links.openStream('ins_1', 'gateway')).toThrow('Too many connections to this machine are open')
  for (const stream of streams) stream.destroy()
})
