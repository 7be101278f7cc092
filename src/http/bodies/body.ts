import type { Context, Next } from 'hono'
import { spareTurn } from '../../core/concurrency/timing.ts'
import { AppError } from '../../core/errors.ts'
import { createJsonMeter, type JsonMeasure } from '../../core/json/bounded-json.ts'
import { addressKey } from '../address.ts'
import { findRouteOptions } from '../endpoint.ts'
import type { BaseEnv } from '../env.ts'
import type { Bodies } from './unfinished.ts'

const KILOBYTE = 1024
/** The general limit for request bodies, chunked ones included. */
const MAX_BODY_BYTES = KILOBYTE * KILOBYTE
/** The highest limit a route may set, enough for a whole conversation. */
export const MAX_LARGE_BODY_BYTES = 8 * KILOBYTE * KILOBYTE
/** Smaller bodies are read at once, without counting chunks. */
const UNCOUNTED_BYTES = 16 * KILOBYTE
/** How long the server discards an unread body after the response. */
const REST_SECONDS = 10
/** Bytes checked per turn of the event loop. */
const PIECE_BYTES = 256 * KILOBYTE
const MAX_DEPTH = 64
/** Maximum number of values in a JSON body, names not counted; more would block the event loop. */
const MAX_VALUES = 20_000
/** For routes with large bodies, such as conversations. */
const MAX_LARGE_VALUES = 50_000

const utf8 = new TextDecoder('utf-8', { fatal: true })
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json(?:\s*;|$)/i

/**
 * Rejects bodies whose Content-Length is too large, before every handler. Handlers read bodies after guards and rate
 * limits, with `receiveBytes` or `receiveText`; the server discards unread bodies for up to `REST_SECONDS`. Routes with a
 * larger limit reject bodies when they read them, in their own form of errors.
 */
export function boundBodies(bodies: Bodies) {
  const bound = async (c: Context<BaseEnv>, next: Next) => {
    if (!readsLarge(c) && isTooLarge(c, lengthOf(c))) refuseLarge(c)
    c.set('bodies', bodies)
    await next()
    if (c.req.method !== 'GET' && !c.get('isBodyWhole')) c.env.keepOpen?.(c.req.raw, REST_SECONDS)
  }
  return (c: Context<BaseEnv>, next: Next) => (hasBody(c) ? bound(c, next) : next())
}

/**
 * Receives a chunked body before `handler` runs, because a handler that ignores its body would not notice one that is
 * too large. Handlers of large bodies read them by themselves.
 * @throws AppError as `receiveBytes`, without checking JSON.
 */
export function receivingChunks<H extends (c: Context, next: Next) => unknown>(handler: H): H {
  const receiving = (c: Context, next: Next) => {
    if (c.req.header('transfer-encoding') === undefined || readsLarge(c)) return handler(c, next)
    return readOnce(c).then(() => handler(c, next))
  }
  return receiving as H
}

/** Returns whether the request has a non-empty body. In-process requests have no Content-Length. */
export function hasBody(c: Context): boolean {
  if (c.req.header('transfer-encoding') !== undefined) return true
  const length = c.req.header('content-length')
  return length === undefined ? c.req.raw.body !== null : length !== '0'
}

/**
 * Reads the body once.
 * @throws AppError `too_large`; `too_slow` after 30 s; `unavailable` while too many bodies are being received;
 * `invalid` for a truncated body, and for JSON that is not UTF-8, nested too deeply or has too many values.
 */
export function receiveBytes(c: Context): Promise<Uint8Array> {
  const known: Promise<Uint8Array> | undefined = c.get('receivedBody')
  if (known) return known
  const received = receive(c)
  c.set('receivedBody', received)
  return received
}

/** Reads the body as text. @throws AppError as `receiveBytes`, and `invalid` for invalid UTF-8. */
export async function receiveText(c: Context): Promise<string> {
  const bytes = await receiveBytes(c)
  return c.get('receivedText') ?? decodeUtf8(bytes)
}

export function hasJsonType(c: Context): boolean {
  return JSON_TYPE.test(c.req.header('content-type') ?? '')
}

/** Checks JSON before it is parsed, large bodies in several turns of the event loop. */
async function receive(c: Context): Promise<Uint8Array> {
  const bytes = await readOnce(c)
  if (!hasJsonType(c)) return bytes
  const maxValues = maxValuesOf(c)
  const measure = createJsonMeter()
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
    requireSimple(measure(bytes.subarray(from, from + PIECE_BYTES)), maxValues)
    if (bytes.length > PIECE_BYTES) await spareTurn()
  }
  c.set('receivedText', decodeUtf8(bytes))
  // Parsing follows; let other requests run first.
  if (bytes.length > PIECE_BYTES) await spareTurn()
  return bytes
}

function maxValuesOf(c: Context): number {
  const { maxBodyValues, maxBodyBytes = MAX_BODY_BYTES } = findRouteOptions(c)
  return maxBodyValues ?? (maxBodyBytes > MAX_BODY_BYTES ? MAX_LARGE_VALUES : MAX_VALUES)
}

/** @throws AppError `invalid` for JSON nested too deeply or with more than about `maxValues` values. */
function requireSimple({ values, depth }: JsonMeasure, maxValues: number): void {
  if (depth > MAX_DEPTH) throw new AppError('invalid', 'JSON is nested too deeply')
  if (values > maxValues) throw new AppError('invalid', `JSON has more than ${maxValues} values`)
}

function readOnce(c: Context): Promise<Uint8Array> {
  const known: Promise<Uint8Array> | undefined = c.get('readBody')
  if (known) return known
  const read = hasBody(c) ? readInTime(c) : Promise.resolve(new Uint8Array())
  c.set('readBody', read)
  return read
}

async function readInTime(c: Context): Promise<Uint8Array> {
  if (isTooLarge(c, lengthOf(c))) refuseLarge(c)
  const bodies: Bodies = c.get('bodies')
  const stop = isSmall(c) ? null : new AbortController()
  const reading = stop ? readCounted(c, bodies, stop.signal) : readAtOnce(c)
  try {
    const bytes = await within(bodies.timeoutMs, reading, () => stop?.abort())
    c.set('isBodyWhole', true)
    return bytes
  } catch (error) {
    // The rest of the body stays unread, so the connection cannot be reused and would delay a shutdown.
    c.header('connection', 'close')
    throw error
  }
}

function within<T>(timeoutMs: number, reading: Promise<T>, stop: () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new AppError('too_slow', 'Request body took too long'))
      stop()
    }, timeoutMs)
    const end =
      <Outcome>(settle: (outcome: Outcome) => void) =>
      (outcome: Outcome) => {
        clearTimeout(timer)
        settle(outcome)
      }
    reading.then(end(resolve), end(reject))
  })
}

/** The server never reads more than Content-Length. */
function isSmall(c: Context): boolean {
  if (c.req.header('transfer-encoding') !== undefined) return false
  return c.req.header('content-length') === undefined || lengthOf(c) <= UNCOUNTED_BYTES
}

async function readAtOnce(c: Context): Promise<Uint8Array> {
  const bytes = new Uint8Array(await c.req.raw.arrayBuffer().catch(throwCutOff))
  if (isTooLarge(c, bytes.byteLength)) refuseLarge(c)
  return bytes
}

async function readCounted(c: Context, bodies: Bodies, stop: AbortSignal): Promise<Uint8Array> {
  const share = bodies.beginBody(holderOf(c))
  const reader = c.req.raw.body?.getReader()
  const cancel = () => void reader?.cancel().catch(() => undefined)
  stop.addEventListener('abort', cancel)
  const chunks: Uint8Array[] = []
  let sizeBytes = 0
  try {
    for (;;) {
      const chunk = await reader?.read().catch(throwCutOff)
      if (!chunk || chunk.done) return Buffer.concat(chunks)
      sizeBytes += chunk.value.byteLength
      if (isTooLarge(c, sizeBytes)) refuseLarge(c)
      share.add(chunk.value.byteLength)
      chunks.push(chunk.value)
    }
  } catch (error) {
    cancel()
    throw error
  } finally {
    share.close()
  }
}

/** Returns the account a body counts against: the `holder` set by a guard, or the client's address. */
function holderOf(c: Context): Parameters<Bodies['beginBody']>[0] {
  const holder: string | undefined = c.get('holder')
  return holder === undefined ? { key: addressKey(c.env.address), isKnown: false } : { key: holder, isKnown: true }
}

function lengthOf(c: Context): number {
  return Number(c.req.header('content-length') ?? 0)
}

function isTooLarge(c: Context, sizeBytes: number): boolean {
  return sizeBytes > MAX_BODY_BYTES && sizeBytes > (findRouteOptions(c).maxBodyBytes ?? MAX_BODY_BYTES)
}

/** Returns whether the route has a larger limit than others, and so reads every body. */
function readsLarge(c: Context): boolean {
  return (findRouteOptions(c).maxBodyBytes ?? 0) > MAX_BODY_BYTES
}

function refuseLarge(c: Context): never {
  c.header('connection', 'close')
  throw new AppError('too_large', 'Request body too large')
}

function throwCutOff(cause: unknown): never {
  throw new AppError('invalid', 'Request body was cut off', {}, { cause })
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (error) {
    throw new AppError('invalid', 'Request body is not valid UTF-8', {}, { cause: error })
  }
}
