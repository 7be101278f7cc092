import { toCanonicalHost } from '../../../core/agents/egress-policy.ts'

/** A request to a forward proxy: a tunnel (`CONNECT`), or a plain request with an absolute URL. */
export type ProxyRequest = {
  kind: 'tunnel' | 'plain'
  host: string
  port: number
  credentials: Credentials | null
  /** Head to send to the origin; empty for a tunnel. */
  head: string
  body: BodyFraming
}
export type Credentials = { user: string; password: string }
/** Length of a request's body; `chunked` ends by itself. */
export type BodyFraming = number | 'chunked'

/** A request that two parsers could read differently, or that no proxy serves. */
export class BadProxyRequest extends Error {}

type Header = { name: string; value: string }

const REQUEST_LINE = /^([A-Z]{1,20}) ([!-~]{1,8192}) (HTTP\/1\.[01])$/
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const AUTHORITY = /^(\[[0-9a-fA-F:.]+\]|[^:@[\]]+):(\d{1,5})$/
/** RFC 9110, 7.6.1: headers that concern one connection only. */
const HOP_BY_HOP = new Set(['connection', 'proxy-connection', 'keep-alive', 'te', 'trailer', 'upgrade', 'host'])

/**
 * Parses the head of a request, without the empty line at its end. Ambiguous heads are refused: they could hide a second
 * request or name two hosts.
 * @throws BadProxyRequest
 */
export function parseProxyRequest(text: string): ProxyRequest {
  const [requestLine = '', ...lines] = splitLines(text)
  const [, method = '', target = '', version = ''] =
    REQUEST_LINE.exec(requestLine) ?? refuse('The request line is malformed')
  const headers = lines.map(parseHeader)
  const credentials = readCredentials(headers)
  const body = readFraming(headers, version)
  if (method === 'CONNECT') return { kind: 'tunnel', ...readTunnel(target, headers, body), credentials, head: '', body }
  const url = readUrl(target)
  const { host, port } = destinationOf(url)
  requireHost(headers, host, port)
  return { kind: 'plain', host, port, credentials, head: toOriginHead(method, url, headers), body }
}

function splitLines(text: string): string[] {
  const lines = text.split('\r\n')
  if (lines.some((line) => /[\r\n\0]/.test(line))) refuse('A line of the head is malformed')
  return lines
}

function parseHeader(line: string): Header {
  const colon = line.indexOf(':')
  const name = line.slice(0, Math.max(colon, 0))
  if (!HEADER_NAME.test(name)) refuse('A header is malformed')
  return { name: name.toLowerCase(), value: trimBlanks(line.slice(colon + 1)) }
}

/** RFC 9110, 5.5: only spaces and tabs surround a value; `trim` would remove more. */
function trimBlanks(text: string): string {
  const isBlank = (index: number) => text[index] === ' ' || text[index] === '\t'
  let [start, end] = [0, text.length]
  while (start < end && isBlank(start)) start++
  while (end > start && isBlank(end - 1)) end--
  return text.slice(start, end)
}

function readTunnel(target: string, headers: readonly Header[], body: BodyFraming): { host: string; port: number } {
  const authority = parseAuthority(target) ?? refuse('CONNECT needs host:port')
  if (body !== 0) refuse('CONNECT has a body')
  for (const { value } of headers.filter(({ name }) => name === 'host')) {
    const named = parseAuthority(value) ?? parseAuthority(`${value}:${authority.port}`)
    if (named?.host !== authority.host) refuse('The Host header names another host')
  }
  return authority
}

function parseAuthority(text: string): { host: string; port: number } | null {
  const [, hostText = '', portText = ''] = AUTHORITY.exec(text) ?? []
  const host = toCanonicalHost(hostText)
  const port = Number(portText)
  return host === null || port < 1 || port > 65_535 ? null : { host, port }
}

function readUrl(target: string): URL {
  if (!/^http:\/\/[^/]/i.test(target) || /[\\#]/.test(target)) refuse('The proxy needs an absolute http URL')
  const authority = target.slice('http://'.length).split(/[/?]/)[0] ?? ''
  // A URL parser would read a user name up to the last at sign.
  if (authority.includes('@') || !URL.canParse(target)) refuse('The URL is not valid')
  return new URL(target)
}

function destinationOf(url: URL): { host: string; port: number } {
  const host = toCanonicalHost(url.hostname) ?? refuse('The host is not valid')
  return { host, port: url.port === '' ? 80 : Number(url.port) }
}

/** RFC 9112, 3.2.2: the URL decides; a Host header that differs could select another site on the same server. */
function requireHost(headers: readonly Header[], host: string, port: number): void {
  const named = headers.filter(({ name }) => name === 'host')
  if (named.length > 1) refuse('There is more than one Host header')
  const [header] = named
  if (!header) return
  const authority = parseAuthority(header.value) ?? parseAuthority(`${header.value}:80`)
  if (authority?.host !== host || authority.port !== port) refuse('The Host header names another host')
}

/** RFC 9112, 6.3: a message with two lengths may be an attempt at request smuggling. */
function readFraming(headers: readonly Header[], version: string): BodyFraming {
  const lengths = headers.filter(({ name }) => name === 'content-length')
  const codings = headers.filter(({ name }) => name === 'transfer-encoding')
  if (lengths.length + codings.length > 1) refuse('The length of the body is ambiguous')
  const [coding] = codings
  if (coding && (coding.value.toLowerCase() !== 'chunked' || version !== 'HTTP/1.1'))
    refuse('The transfer coding is unknown')
  if (coding) return 'chunked'
  const [length] = lengths
  if (length && !/^\d{1,15}$/.test(length.value)) refuse('The length of the body is malformed')
  return Number(length?.value ?? 0)
}

function readCredentials(headers: readonly Header[]): Credentials | null {
  const given = headers.filter(({ name }) => name === 'proxy-authorization')
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(given[0]?.value ?? '') ?? []
  if (encoded === undefined || given.length > 1) return null
  const [, user = '', password = ''] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? []
  return password === '' ? null : { user, password }
}

/** One request per connection: what follows its body is never sent. */
function toOriginHead(method: string, url: URL, headers: readonly Header[]): string {
  const named = headers
    .filter(({ name }) => name === 'connection')
    .flatMap(({ value }) => value.toLowerCase().split(/[ ,\t]+/))
  const kept = headers.filter(({ name }) => !HOP_BY_HOP.has(name) && !name.startsWith('proxy-'))
  // A sender could otherwise remove the header that says how long the body is.
  const isFraming = (name: string) => name === 'content-length' || name === 'transfer-encoding'
  const lines = kept
    .filter(({ name }) => isFraming(name) || !named.includes(name))
    .map(({ name, value }) => `${name}: ${value}`)
  return [
    `${method} ${url.pathname}${url.search} HTTP/1.1`,
    `host: ${url.host}`,
    ...lines,
    'connection: close',
    '',
    '',
  ].join('\r\n')
}

function refuse(reason: string): never {
  throw new BadProxyRequest(reason)
}
