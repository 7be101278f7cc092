import type { Context, Next } from 'hono'
import { AppError } from '../core/errors.ts'
import { addressKey } from './address.ts'
import type { Bodies } from './bodies.ts'
import type { BaseEnv } from './env.ts'
import { findRouteTraits } from './route-traits.ts'

const KILOBYTE = 1024
/** Interface 4.1: JSON bodies are limited to 1 MB, chunked ones as well. */
const MAX_BODY_BYTES = KILOBYTE * KILOBYTE
/** The most that a route may allow: as much as a whole conversation takes (decisions, 36). */
export const MAX_LARGE_BODY_BYTES = 8 * KILOBYTE * KILOBYTE
/** As much as a request's head may have anyway: counting it piece by piece costs more than it takes. */
const UNCOUNTED_BYTES = 16 * KILOBYTE
/** What was not read is waited for no longer than this once the answer is there. */
const REST_SECONDS = 10
const MAX_DEPTH = 64

const utf8 = new TextDecoder('utf-8', { fatal: true })
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json(?:\s*;|$)/i

/**
 * Stands before every handler. Refuses a body that says it is too large, and reads none: that is done by whoever wants it,
 * behind the guards and the rate limits, with `receiveBytes` or `receiveText`. What nobody wanted is thrown away by the
 * server, which takes no memory, and not for long.
 */
export function boundBodies(bodies: Bodies) {
  return async (c: Context<BaseEnv>, next: Next) => {
    if (c.req.method === 'GET' || !hasBody(c)) return next()
    if (isTooLarge(c, lengthOf(c))) refuseLarge(c)
    c.set('bodies', bodies)
    await next()
    if (!c.get('isBodyWhole')) c.env.keepOpen?.(c.req.raw, REST_SECONDS)
  }
}

/** Did the caller send a body, empty ones apart? Those made in this process come without a length. */
export function hasBody(c: Context): boolean {
  if (c.req.header('transfer-encoding') !== undefined) return true
  const length = c.req.header('content-length')
  return length === undefined ? c.req.raw.body !== null : length !== '0'
}

/**
 * The body, read once however often it is asked for.
 * @throws AppError `too_large`; `too_slow` after 30 s; `unavailable` while too many are under way; `invalid` for one that
 * its caller cut off, and for JSON that is no UTF-8 or nested too deeply (decisions, 12).
 */
export function receiveBytes(c: Context): Promise<Uint8Array> {
  const known: Promise<Uint8Array> | undefined = c.get('receivedBody')
  if (known) return known
  const received = receive(c)
  c.set('receivedBody', received)
  return received
}

/** `receiveBytes` as text. @throws AppError as it does, and `invalid` for what is no UTF-8. */
export async function receiveText(c: Context): Promise<string> {
  const bytes = await receiveBytes(c)
  return (await c.req.bodyCache.text) ?? decodeUtf8(bytes)
}

export function hasJsonType(c: Context): boolean {
  return JSON_TYPE.test(c.req.header('content-type') ?? '')
}

async function receive(c: Context): Promise<Uint8Array> {
  const bytes = hasBody(c) ? await readInTime(c) : new Uint8Array()
  c.set('isBodyWhole', true)
  if (hasJsonType(c)) keepJson(c, decodeUtf8(bytes))
  return bytes
}

/** Hono's own validation finds the text here. It keeps promises, whatever its type says. */
function keepJson(c: Context, text: string): void {
  if (isTooDeep(text)) throw new AppError('invalid', 'JSON is nested too deeply')
  Object.assign(c.req.bodyCache, { text: Promise.resolve(text) })
}

async function readInTime(c: Context): Promise<Uint8Array> {
  const bodies: Bodies = c.get('bodies')
  const stop = isSmall(c) ? null : new AbortController()
  const reading = stop ? readCounted(c, bodies, stop.signal) : readAtOnce(c)
  try {
    return await within(bodies.timeoutMs, reading, () => stop?.abort())
  } catch (error) {
    // The rest of the body is never read, so nothing can follow it; an open connection would also hold up a stop.
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

/** The server holds a caller to the length they gave. */
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
  const share = bodies.open(holderOf(c))
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

/** A guard that knows whose request it is has said so. */
function holderOf(c: Context): Parameters<Bodies['open']>[0] {
  const holder: string | undefined = c.get('holder')
  return holder === undefined ? { key: addressKey(c.env.address), isKnown: false } : { key: holder, isKnown: true }
}

function lengthOf(c: Context): number {
  return Number(c.req.header('content-length') ?? 0)
}

function isTooLarge(c: Context, sizeBytes: number): boolean {
  return sizeBytes > MAX_BODY_BYTES && sizeBytes > (findRouteTraits(c).maxBodyBytes ?? MAX_BODY_BYTES)
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

/** Counts brackets outside strings. */
function isTooDeep(json: string): boolean {
  let depth = 0
  let isInString = false
  for (let index = 0; index < json.length; index++) {
    const code = json.charCodeAt(index)
    if (isInString) {
      if (code === 0x5c) index++
      else if (code === 0x22) isInString = false
    } else if (code === 0x22) isInString = true
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > MAX_DEPTH) return true
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return false
}
