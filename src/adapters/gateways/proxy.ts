import { type ClientRequest, type IncomingMessage, request as openRequest } from 'node:http'
import { Readable } from 'node:stream'
import { AppError } from '../../core/errors.ts'
import { requestIdHeader } from '../../core/request-id.ts'

/**
 * Limits for connecting, for the request body, and for the first byte of a response: an agent's turn may take ten
 * minutes.
 */
export type ProxyTimeouts = { connectMs: number; bodyMs: number; answerMs: number }
const TIMEOUTS: ProxyTimeouts = { connectMs: 5000, bodyMs: 30_000, answerMs: 660_000 }
/**
 * `onWhole` is called when the request body is complete, `onOver` when it is released, in any case; `onAnswered` when
 * the response has ended.
 */
type BodyEvents = { onWhole: () => void; onOver: () => void; onAnswered?: () => void }
/** Bytes buffered for a slow caller. */
const BUFFERED_BYTES = 64 * 1024
const WITHOUT_BODY = new Set([204, 205, 304])

/**
 * Forwards a request to the agent at `baseUrl` and streams the response back with backpressure; the caller's abort ends
 * it. Uses node:http, because all fetches of a process share 256 connections, which agents' streams could exhaust.
 * @throws AppError `upstream_failed`, `upstream_timeout`, `too_slow` for a slow body.
 */
export async function forward(
  request: Request,
  baseUrl: string,
  client: ProxyClient | null,
  signal: AbortSignal,
  body: BodyEvents,
  timeouts = TIMEOUTS,
): Promise<Response> {
  const answer = await send(request, baseUrl, client, signal, { body, timeouts })
  const status = answer.statusCode ?? 502
  const isEmpty = request.method === 'HEAD' || WITHOUT_BODY.has(status)
  for (const end of ['end', 'close']) answer.once(end, () => body.onAnswered?.())
  if (isEmpty) answer.resume()
  return new Response(isEmpty ? null : toStream(answer, signal), {
    status,
    statusText: answer.statusMessage ?? '',
    headers: withCookiesCleared(request, toClientHeaders(readHeaders(answer.rawHeaders))),
  })
}

function withCookiesCleared(request: Request, headers: Headers): Headers {
  if (hasTooManyCookies(request.headers)) headers.set('clear-site-data', '"cookies"')
  return headers
}

function send(
  request: Request,
  baseUrl: string,
  client: ProxyClient | null,
  signal: AbortSignal,
  { body, timeouts }: { body: BodyEvents; timeouts: ProxyTimeouts },
): Promise<IncomingMessage> {
  const { pathname, search } = new URL(request.url)
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const outgoing = openRequest(`${baseUrl}${pathname}${search}`, {
    method: request.method,
    headers: Object.fromEntries(toAgentHeaders(request.headers, client)),
    signal,
    // The agent may close a kept connection just as it is reused.
    agent: false,
  })
  const expire = () => outgoing.destroy(new AppError('upstream_timeout', 'The agent did not answer in time'))
  const answering = setTimeout(expire, timeouts.answerMs)
  const connecting = setTimeout(expire, timeouts.connectMs)
  outgoing.once('socket', (socket) => socket.once('connect', () => clearTimeout(connecting)))
  outgoing.once('response', resolve)
  outgoing.once('close', () => reject(toProxyError(null)))
  outgoing.on('error', (error) => reject(toProxyError(error)))
  sendBody(request, outgoing, timeouts.bodyMs, body)
  return promise.finally(() => {
    clearTimeout(answering)
    clearTimeout(connecting)
  })
}

/** Sends the body. An early response and a leaving caller are no errors. */
function sendBody(request: Request, outgoing: ClientRequest, maxMs: number, { onWhole, onOver }: BodyEvents): void {
  if (!request.body) {
    outgoing.end()
    onOver()
    return
  }
  const body = Readable.fromWeb(request.body)
  const expire = () => outgoing.destroy(new AppError('too_slow', 'Request body took too long'))
  const receiving = setTimeout(expire, maxMs)
  body.on('end', onWhole)
  body.on('close', () => {
    clearTimeout(receiving)
    onOver()
  })
  body.on('error', () => outgoing.destroy())
  outgoing.on('close', () => body.destroy())
  body.pipe(outgoing)
}

/** Converts a response to a stream. `Readable.toWeb` would treat a leaving caller as an error. */
function toStream(answer: IncomingMessage, signal: AbortSignal): ReadableStream<Uint8Array> {
  let isOver = false
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const finish = (end: () => void) => {
          if (!isOver) end()
          isOver = true
        }
        answer.on('data', (bytes: Buffer) => {
          if (isOver) return
          controller.enqueue(bytes)
          if ((controller.desiredSize ?? 0) <= 0) answer.pause()
        })
        answer.on('end', () => finish(() => controller.close()))
        answer.on('error', () => answer.destroy())
        answer.on('close', () =>
          finish(() => {
            if (signal.aborted) controller.close()
            else controller.error(new AppError('upstream_failed', 'The agent hung up'))
          }),
        )
      },
      pull: () => void answer.resume(),
      cancel() {
        isOver = true
        answer.destroy()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: BUFFERED_BYTES }),
  )
}

function readHeaders(raw: string[]): Headers {
  const headers = new Headers()
  for (let index = 0; index + 1 < raw.length; index += 2) headers.append(raw[index] ?? '', raw[index + 1] ?? '')
  return headers
}

function toProxyError(cause: Error | null): AppError {
  if (cause instanceof AppError) return cause
  return new AppError('upstream_failed', 'The agent is not reachable', {}, cause ? { cause } : {})
}

/** Hop-by-hop headers (RFC 9110, section 7.6.1), and `expect`, which the server has handled. */
const HOP_BY_HOP = [
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]
const FORWARDED = /^(?:forwarded|x-forwarded-.*|x-real-ip)$/
/** The dashboard's cookies, also with their prefixes over HTTPS. */
const OWN_COOKIE = /^(?:__Host-|__Secure-)?service-/

/** Beyond the header limits of agents' servers. */
const MAX_COOKIE_CHARACTERS = 12 * 1024

/** The caller; `proto` is the scheme with which they reached us or the proxy in front of us. */
export type ProxyClient = { address: string | null; proto: 'http' | 'https' }

/**
 * Converts request headers for the agent: without the dashboard's cookies, and with our own forwarding headers. Without
 * `client` there are none: OpenClaw answers 403 to forwarding headers of an untrusted proxy, and would reject the
 * platform's own requests once it trusted it.
 */
export function toAgentHeaders(given: Headers, client: ProxyClient | null): Headers {
  const headers = withoutHopByHop(given)
  for (const name of [...headers.keys()]) if (FORWARDED.test(name)) headers.delete(name)
  const cookies = withoutOwnCookies(given.get('cookie') ?? '')
  if (cookies && !hasTooManyCookies(given)) headers.set('cookie', cookies)
  else headers.delete('cookie')
  for (const [name, value] of Object.entries(requestIdHeader())) headers.set(name, value)
  if (!client) return headers
  if (client.address) headers.set('x-forwarded-for', client.address)
  headers.set('x-forwarded-host', given.get('host') ?? '')
  headers.set('x-forwarded-proto', client.proto)
  return headers
}

/**
 * Returns whether a page has filled the browser with cookies. Agents' servers would reject such requests, so the
 * cookies are left out and the response clears them.
 */
export function hasTooManyCookies(given: Headers): boolean {
  return (given.get('cookie')?.length ?? 0) > MAX_COOKIE_CHARACTERS
}

/**
 * Converts response headers for the caller: cookies are limited to the agent's host, and `clear-site-data`, which would
 * reach the dashboard's cookies, is removed.
 */
function toClientHeaders(given: Headers): Headers {
  const headers = withoutHopByHop(given)
  headers.delete('clear-site-data')
  headers.delete('set-cookie')
  for (const cookie of given.getSetCookie()) headers.append('set-cookie', withoutDomain(cookie))
  return headers
}

function withoutHopByHop(given: Headers): Headers {
  const headers = new Headers(given)
  const named = (given.get('connection') ?? '').split(',').map((name) => name.trim())
  for (const name of [...HOP_BY_HOP, ...named]) if (isToken(name)) headers.delete(name)
  return headers
}

/** `Headers` throws on invalid names. */
function isToken(name: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(name)
}

function withoutOwnCookies(cookies: string): string {
  return cookies
    .split(';')
    .filter((cookie) => cookie.trim() !== '' && !OWN_COOKIE.test(cookie.trim()))
    .join(';')
    .trim()
}

function withoutDomain(cookie: string): string {
  return cookie
    .split(';')
    .filter((part, index) => index === 0 || !/^\s*domain\s*(?:=|$)/i.test(part))
    .join(';')
}
