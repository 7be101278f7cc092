import { type ClientRequest, type IncomingMessage, request as openRequest } from 'node:http'
import { Readable } from 'node:stream'
import { AppError } from '../../core/errors.ts'
import { hasTooManyCookies, type ProxyClient, toAgentHeaders, toClientHeaders } from './proxy-headers.ts'

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
