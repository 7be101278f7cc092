import { type ClientRequest, type IncomingMessage, request as openRequest } from 'node:http'
import { Readable } from 'node:stream'
import { AppError } from '../../core/errors.ts'
import { requestIdHeader } from '../../core/request-id.ts'

/**
 * How long to wait for a connection, for the whole body of a request, and for the first byte of an answer: a turn of an
 * agent may take ten minutes.
 */
export type ProxyTimeouts = { connectMs: number; bodyMs: number; answerMs: number }
const TIMEOUTS: ProxyTimeouts = { connectMs: 5000, bodyMs: 30_000, answerMs: 660_000 }
/** `onWhole` and `onOver` are told once each, of the request; `onOver` always. `onAnswered` is told when an answer has ended. */
type BodyEvents = { onWhole: () => void; onOver: () => void; onAnswered?: () => void }
/** What is read ahead of a slow caller. */
const BUFFERED_BYTES = 64 * 1024
const WITHOUT_BODY = new Set([204, 205, 304])

/**
 * Passes a request on to the agent at `baseUrl` and its answer back, both ways as they come and no faster than they are
 * taken. The caller's abort ends it; `body` is told when all of their body has come, and when no more of it is held here.
 * Not by `fetch`: all of this process share its 256 connections, and open streams of agents must not use them up.
 * @throws AppError `upstream_failed`, `upstream_timeout`, `too_slow` for a body that takes its time.
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
    // A kept connection may be closed by the agent just as it is used again.
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

/** An agent may answer before it has read everything, and the caller may go away: neither is an error of its own. */
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

/** Not `Readable.toWeb`, which calls it an error when the caller leaves. An agent that hangs up breaks the answer off. */
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

/** What concerns one connection only (RFC 9110, 7.6.1), and `expect`, which the server has answered already. */
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
/** The dashboard's cookies, also with the prefix they have over https. */
const OWN_COOKIE = /^(?:__Host-|__Secure-)?service-/

/** More than agents' servers take in a head, and far more than anybody needs. */
const MAX_COOKIE_CHARACTERS = 12 * 1024

/** Who calls, as the listener knows them. `proto` is how they reached us or the proxy before us. */
export type ProxyClient = { address: string | null; proto: 'http' | 'https' }

/**
 * A request's headers as the agent gets them: none of the dashboard's cookies, and no claim about who calls but ours. With
 * null there is none at all: OpenClaw answers 403 to a proxy that says for whom it asks, unless it was told of that proxy,
 * and then 403 to whatever the platform asks for itself.
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
 * Has some page filled the browser with cookies, its own or another agent's? Agents never see such ones, because no server
 * would take the request; whoever answers it clears them.
 */
export function hasTooManyCookies(given: Headers): boolean {
  return (given.get('cookie')?.length ?? 0) > MAX_COOKIE_CHARACTERS
}

/**
 * An agent's headers as the caller gets them: its cookies are for its own host alone, and it clears nobody's site data,
 * which for cookies would reach the dashboard's.
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

/** `Headers` throws on names that no header can have. */
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
