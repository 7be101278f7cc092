import { lookup } from 'node:dns/promises'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { toCanonicalHost } from '../../core/agents/egress-policy.ts'
import { orAborted } from '../../core/concurrency/race.ts'
import { AppError } from '../../core/errors.ts'
import { isAllowedAddress } from './addresses.ts'
import { ACCEPTED_CODINGS, decodeBody, TooMuch } from './body.ts'
import { type ResolvedAddress, sendRequest, type WireRequest } from './connect.ts'
import { EgressError, type EgressFailure } from './error.ts'

/** DNS and routing, replaced in tests. */
export type Network = {
  resolve(hostname: string): Promise<ResolvedAddress[]>
  /** Returns the address to connect to for a checked one. */
  route(address: ResolvedAddress, port: number): { address: ResolvedAddress; port: number }
  /** Replaces the system's certificate authorities. */
  ca?: string
}

export type EgressRequest = {
  method?: string
  headers?: Readonly<Record<string, string>>
  body?: string | Uint8Array
  /** Limits DNS, connections, redirects and body together. */
  timeoutMs: number
  signal?: AbortSignal
  /** Accepted media types of a 2xx response; all when absent. */
  accepts?: readonly string[]
  /** Defaults to 5; with 0 a redirect is returned as the response. */
  maxRedirects?: number
  maxWireBytes?: number
  /** Limit after decompression. */
  maxBytes?: number
  /** Decides about every destination, redirects included, in place of the fixed ports. @throws AppError to refuse one. */
  judge?: JudgeDestination
}
/** `host` is canonical. */
export type JudgeDestination = (host: string, port: number) => void

export type EgressResponse = {
  /** The final URL after redirects. */
  url: string
  status: number
  /** Lower-case names; repeated headers are joined by a comma. Cookies are left out. */
  headers: ReadonlyMap<string, string>
  /** The decoded body; the caller must read it to the end or cancel it. @throws EgressError. */
  body: AsyncIterable<Uint8Array>
  /** Returns the whole body. @throws EgressError. */
  bytes(): Promise<Uint8Array<ArrayBuffer>>
  cancel(): void
}

/** The only client for user-supplied URLs; it blocks internal addresses. */
export type Egress = {
  /**
   * Sends a request and resolves with the response head for any status.
   * @throws EgressError; `unreachable` does not reveal whether the address was blocked or did not answer.
   */
  request(url: string, request: EgressRequest): Promise<EgressResponse>
}

const MEGABYTE = 1024 * 1024
const MAX_REDIRECTS = 5
const MAX_WIRE_BYTES = 2 * MEGABYTE
const MAX_BYTES = 5 * MEGABYTE
const MAX_URL_LENGTH = 8192
/** Web ports only; other ports serve other protocols or internal services. */
const PORTS: ReadonlySet<number> = new Set([80, 443, 8080, 8443])
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** Headers that are dropped when a redirect leaves the origin. */
const FOR_ONE_ORIGIN = ['authorization', 'cookie', 'proxy-authorization', 'x-api-key']
/** Headers that callers cannot set. */
const RESERVED = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding', 'upgrade'])

/** The system's resolver and routes. */
export const INTERNET: Network = {
  resolve: async (hostname) =>
    (await lookup(hostname, { all: true })).map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 })),
  route: (address, port) => ({ address, port }),
}

/**
 * Creates the client. `allowPrivate` allows loopback and private addresses and all ports, for development and tests;
 * `mayBePrivate` allows them for single destinations.
 */
export function createEgress(options: {
  allowPrivate: boolean
  network?: Network
  mayBePrivate?: MayBePrivate
}): Egress {
  const { allowPrivate, network = INTERNET, mayBePrivate = () => allowPrivate } = options
  const rules = { allowPrivate, network, mayBePrivate }
  return {
    async request(url, request) {
      const deadline = startDeadline(request)
      try {
        const { message, at } = await follow({ ...rules, judge: request.judge }, url, request, deadline.signal)
        return toResponse(message, at, { asked: url, request, deadline })
      } catch (error) {
        deadline.end()
        throw error instanceof AppError ? error : new EgressError('unreachable', url, { cause: error })
      }
    },
  }
}

/** Returns whether a destination may have a private address. */
export type MayBePrivate = (host: string, port: number) => boolean
type Rules = {
  allowPrivate: boolean
  network: Network
  mayBePrivate: MayBePrivate
  judge?: JudgeDestination | undefined
}

/** Follows redirects and checks each target like the first URL. */
async function follow(
  rules: Rules,
  first: string,
  request: EgressRequest,
  signal: AbortSignal,
): Promise<{ message: IncomingMessage; at: URL }> {
  const maxRedirects = request.maxRedirects ?? MAX_REDIRECTS
  let at = parseUrl(rules, first)
  let wire = toWire(request)
  for (let hop = 0; ; hop++) {
    const message = await send(rules, at, wire, signal)
    const location = maxRedirects > 0 && REDIRECTS.has(message.statusCode ?? 0) ? message.headers.location : undefined
    if (location === undefined) return { message, at }
    message.destroy()
    if (hop >= maxRedirects) throw new Error(`More than ${maxRedirects} redirects`)
    const next = parseUrl(rules, location, at)
    wire = afterRedirect(wire, message.statusCode ?? 0, next.origin === at.origin)
    at = next
  }
}

async function send(rules: Rules, url: URL, wire: WireRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const port = portOf(url)
  // A DNS lookup cannot be cancelled, so only the wait for it is.
  const checked = await orAborted(resolveAllowed(rules, url.hostname, port), signal)
  const routes = checked.map((address) => rules.network.route(address, port))
  const destination = {
    addresses: routes.map((route) => route.address),
    port: routes[0]?.port ?? port,
    ca: rules.network.ca,
  }
  return sendRequest(url, wire, destination, signal)
}

/**
 * Resolves a host. Every address must be allowed, because a later connection could use another one.
 * @throws Error for a forbidden address, and as the resolver.
 */
export async function resolveAllowed(
  { network, mayBePrivate }: Pick<Rules, 'network' | 'mayBePrivate'>,
  hostname: string,
  port: number,
): Promise<ResolvedAddress[]> {
  const allowPrivate = mayBePrivate(hostname, port)
  const name = hostname.replace(/^\[|\]$/g, '')
  const version = isIP(name)
  const addresses: ResolvedAddress[] =
    version === 0 ? await network.resolve(name) : [{ address: name, family: version === 6 ? 6 : 4 }]
  if (addresses.length === 0) throw new Error(`${name} has no address`)
  for (const { address } of addresses) {
    if (!isAllowedAddress(address, allowPrivate))
      throw new ForbiddenAddress(`${name} is ${address}, which is not allowed`)
  }
  return addresses
}

/** A host has an address that agents and users must not reach. */
export class ForbiddenAddress extends Error {}

function parseUrl({ allowPrivate, judge }: Rules, text: string, base?: URL): URL {
  if (text.length > MAX_URL_LENGTH) throw new Error('The URL is too long')
  const url = new URL(text, base)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error(`${url.protocol} is not http or https`)
  if (url.username !== '' || url.password !== '') throw new Error('The URL names a user')
  if (!judge && !allowPrivate && !PORTS.has(portOf(url))) throw new Error(`Port ${url.port} is not allowed`)
  judge?.(requireHost(url), portOf(url))
  return url
}

function requireHost(url: URL): string {
  const host = toCanonicalHost(url.hostname)
  if (host === null) throw new Error('The host is not valid')
  return host
}

function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}

function toWire({ method = 'GET', headers = {}, body }: EgressRequest): WireRequest {
  const own = Object.entries(headers).filter(([name]) => !RESERVED.has(name.toLowerCase()))
  const lower = own.map(([name, value]) => [name.toLowerCase(), value] as const)
  return { method, headers: { ...Object.fromEntries(lower), 'accept-encoding': ACCEPTED_CODINGS }, body }
}

/** Follows the Fetch standard: only 307 and 308 resend the body, and credentials stay at their origin. */
function afterRedirect(wire: WireRequest, status: number, isSameOrigin: boolean): WireRequest {
  const keepsMethod = status >= 307 || wire.method === 'GET' || wire.method === 'HEAD'
  const dropped = [...(keepsMethod ? [] : ['content-type']), ...(isSameOrigin ? [] : FOR_ONE_ORIGIN)]
  const headers = Object.fromEntries(Object.entries(wire.headers).filter(([name]) => !dropped.includes(name)))
  return keepsMethod ? { ...wire, headers } : { method: 'GET', headers, body: undefined }
}

type Deadline = { signal: AbortSignal; end(): void }

function startDeadline({ timeoutMs, signal }: EgressRequest): Deadline {
  const time = new AbortController()
  const timer = setTimeout(() => time.abort(new Error(`No answer within ${timeoutMs} ms`)), timeoutMs)
  return {
    signal: signal ? AbortSignal.any([time.signal, signal]) : time.signal,
    end: () => clearTimeout(timer),
  }
}

type Asked = { asked: string; request: EgressRequest; deadline: Deadline }

/** @throws EgressError `wrong_type` or `broken` after closing the connection. */
function toResponse(message: IncomingMessage, at: URL, { asked, request, deadline }: Asked): EgressResponse {
  const cancel = () => {
    deadline.end()
    message.destroy()
  }
  const headers = toHeaders(message)
  const status = message.statusCode ?? 0
  const mediaType = (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  if (request.accepts && status >= 200 && status < 300 && !request.accepts.includes(mediaType)) {
    cancel()
    throw new EgressError('wrong_type', asked)
  }
  const read = async function* (): AsyncGenerator<Uint8Array> {
    try {
      const coding = (headers.get('content-encoding') ?? '').trim().toLowerCase()
      yield* decodeBody(message, coding, {
        maxWireBytes: request.maxWireBytes ?? MAX_WIRE_BYTES,
        maxBytes: request.maxBytes ?? MAX_BYTES,
      })
    } catch (error) {
      throw new EgressError(failureOf(error, deadline), asked, { cause: error })
    } finally {
      cancel()
    }
  }
  const body = read()
  return { url: at.href, status, headers, body, bytes: () => collect(body), cancel }
}

function failureOf(error: unknown, { signal }: Deadline): EgressFailure {
  if (signal.aborted) return 'timeout'
  return error instanceof TooMuch ? 'too_large' : 'broken'
}

function toHeaders({ headers }: IncomingMessage): Map<string, string> {
  const entries = Object.entries(headers).filter(([name]) => name !== 'set-cookie')
  return new Map(entries.map(([name, value = '']) => [name, Array.isArray(value) ? value.join(', ') : value]))
}

/** Copies into one buffer, because separate chunks of one byte would take a hundred times their size. */
async function collect(body: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const sink = new Bun.ArrayBufferSink()
  sink.start({ asUint8Array: true })
  for await (const chunk of body) sink.write(new Uint8Array(chunk))
  return toBytes(sink.end())
}

function toBytes(whole: ArrayBuffer | Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return whole instanceof ArrayBuffer ? new Uint8Array(whole) : whole
}
