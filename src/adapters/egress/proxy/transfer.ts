import type { Socket } from 'node:net'
import { toCanonicalHost } from '../../../core/agents/egress-policy.ts'
import { createBodyMeter } from './body-end.ts'
import { readGreeting } from './client-hello.ts'
import type { ProxyRequest } from './head.ts'

/** A tunnel asked for another host by TLS than by `CONNECT`, or for none. */
export class NotTheHost extends Error {}

const GREETING_MS = 30_000

/**
 * Sends one request and returns the answer as it comes. Bytes after the body are not sent.
 * @throws BadProxyRequest for a malformed body.
 */
export async function forwardPlain(client: Socket, origin: Socket, request: ProxyRequest, rest: Buffer): Promise<void> {
  const measure = createBodyMeter(request.body)
  origin.write(Buffer.from(request.head, 'latin1'))
  const answered = passAll(origin, client)
  let isEnd = request.body === 0
  const send = async (chunk: Buffer) => {
    if (isEnd) return
    const part = measure(chunk)
    isEnd = part.isEnd
    if (part.bytes > 0) await write(origin, chunk.subarray(0, part.bytes))
  }
  const sent = (async () => {
    await send(rest)
    for await (const chunk of chunksOf(client)) await send(chunk)
    // A client that went away ends the request.
    if (!isEnd) origin.destroy()
  })()
  await Promise.race([answered, sent.then(() => answered)])
}

type Tunnel = { host: string; rest: Buffer; isTlsRequired: boolean }

/**
 * Connects both sides after the client's first bytes were checked. Without `isTlsRequired` another protocol may pass,
 * but TLS must always ask for `host`.
 * @throws NotTheHost
 */
export async function forwardTunnel(
  client: Socket,
  origin: Socket,
  { host, rest, isTlsRequired }: Tunnel,
): Promise<void> {
  client.write('HTTP/1.1 200 Connection established\r\n\r\n')
  // A server of another protocol may speak first.
  const answered = isTlsRequired ? null : passAll(origin, client)
  const chunks = chunksOf(client)
  const greeting = await readVerified(chunks, { host, rest, isTlsRequired })
  if (greeting === null) return
  await write(origin, greeting)
  const sent = (async () => {
    for await (const chunk of chunks) await write(origin, chunk)
    origin.end()
  })()
  await Promise.all([answered ?? passAll(origin, client), sent])
}

/** Returns the bytes that were read to decide; null when the client left before. @throws NotTheHost */
async function readVerified(
  chunks: AsyncIterator<Buffer>,
  { host, rest, isTlsRequired }: Tunnel,
): Promise<Buffer | null> {
  const late = isTlsRequired ? AbortSignal.timeout(GREETING_MS) : null
  for (let received = rest; ; ) {
    const greeting = readGreeting(received)
    if (greeting.kind === 'tls') return requireName(greeting, { host, isTlsRequired }) ?? received
    if (greeting.kind === 'plain' && !isTlsRequired) return received
    if (greeting.kind !== 'partial') throw new NotTheHost('The tunnel does not start with TLS')
    const next = await orAborted(chunks.next(), late)
    if (next === null || next.done) return null
    received = Buffer.concat([received, next.value])
  }
}

function requireName(
  { serverName, isHidden }: { serverName: string | null; isHidden: boolean },
  { host, isTlsRequired }: Pick<Tunnel, 'host' | 'isTlsRequired'>,
): null {
  const isAddress = /^[\d.]+$/.test(host) || host.includes(':')
  // RFC 6066, 3: addresses are not named.
  const isNamed = isAddress ? serverName === null : serverName !== null && toCanonicalHost(serverName) === host
  if (!isNamed) throw new NotTheHost(`The tunnel to ${host} asks for ${serverName ?? 'no host'}`)
  if (isHidden && isTlsRequired) throw new NotTheHost('An encrypted ClientHello may ask for another host')
  return null
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal | null): Promise<T | null> {
  if (!signal) return work
  return Promise.race([
    work,
    new Promise<null>((resolve) => signal.addEventListener('abort', () => resolve(null), { once: true })),
  ])
}

async function passAll(from: Socket, to: Socket): Promise<void> {
  for await (const chunk of chunksOf(from)) await write(to, chunk)
  to.end()
}

async function* chunksOf(socket: Socket): AsyncGenerator<Buffer, void> {
  try {
    // The other direction may still be in use.
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) yield chunk
  } catch {
    // A reset connection has no more bytes.
  }
}

/** Resolves when the socket accepts more, or when the connection is closed. */
function write(socket: Socket, chunk: Buffer): Promise<void> | void {
  if (socket.destroyed || socket.write(chunk)) return
  return new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done).off('close', done)
      resolve()
    }
    socket.once('drain', done).once('close', done)
  })
}
