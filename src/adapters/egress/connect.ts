import http from 'node:http'
import https from 'node:https'
import { isIP } from 'node:net'

/** A resolved address of a host name. */
export type ResolvedAddress = { address: string; family: 4 | 6 }

export type WireRequest = {
  method: string
  headers: Readonly<Record<string, string>>
  body: string | Uint8Array | undefined
}

/** The only addresses to connect to. `ca` replaces the system's certificate authorities. */
export type Destination = { addresses: readonly ResolvedAddress[]; port: number; ca: string | undefined }

/**
 * Sends one request over a new connection to one of the given addresses, without DNS or proxy, and resolves with the
 * response head. Host, SNI and certificate name come from `url`.
 * @throws the network's error or the signal's reason; an abort also ends the body.
 */
export function sendRequest(
  url: URL,
  { method, headers, body }: WireRequest,
  { addresses, port, ca }: Destination,
  signal: AbortSignal,
): Promise<http.IncomingMessage> {
  const name = url.hostname.replace(/^\[|\]$/g, '')
  const isSecure = url.protocol === 'https:'
  const options: https.RequestOptions = {
    agent: false,
    method,
    // Node connects to a literal address without calling `lookup`.
    host: isIP(name) ? addresses[0]?.address : name,
    port,
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, host: url.host, connection: 'close', ...lengthOf(body) },
    lookup: (_name, wanted, callback) => answerLookup(addresses, wanted.all === true, callback),
    ...(isSecure && !isIP(name) ? { servername: name.replace(/\.$/, '') } : {}),
    ...(ca ? { ca } : {}),
  }
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const request = (isSecure ? https : http).request(options, (message) => {
      // An unhandled late error would end the process; the body's reader receives it too.
      message.on('error', () => {})
      resolve(message)
    })
    const abort = () => request.destroy(toError(signal.reason))
    signal.addEventListener('abort', abort, { once: true })
    request.on('close', () => signal.removeEventListener('abort', abort))
    request.on('error', reject)
    request.on('upgrade', (_message, socket) => {
      socket.destroy()
      reject(new Error('The other side switched protocols'))
    })
    request.end(body)
  })
}

type LookupCallback = (error: null, address: string | ResolvedAddress[], family?: number) => void

function answerLookup(addresses: readonly ResolvedAddress[], isAll: boolean, callback: LookupCallback): void {
  if (isAll) callback(null, [...addresses])
  else callback(null, addresses[0]?.address ?? '', addresses[0]?.family)
}

function lengthOf(body: string | Uint8Array | undefined): Record<string, string> {
  return body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason))
}
