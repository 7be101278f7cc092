/** A TLS handshake record starts with its content type and the major version (RFC 8446, 5.1). */
const HANDSHAKE_RECORD = 22
const CLIENT_HELLO = 1
const RECORD_HEADER = 5
const HANDSHAKE_HEADER = 4
const MAX_HELLO_BYTES = 64 * 1024
const SERVER_NAME = 0
const ENCRYPTED_CLIENT_HELLO = 0xfe0d
const HOST_NAME = 0

/**
 * Start of a connection: not TLS, TLS with more bytes to come, a ClientHello with the server name it asks for (null without
 * one), or malformed TLS. `isHidden`: an encrypted ClientHello may ask for another name.
 */
export type Greeting =
  | { kind: 'plain' | 'partial' | 'malformed' }
  | { kind: 'tls'; serverName: string | null; isHidden: boolean }

/** Reads the ClientHello at the start of a connection, also when it is spread over several records. */
export function readGreeting(bytes: Buffer): Greeting {
  if (bytes.length === 0) return { kind: 'partial' }
  if (bytes[0] !== HANDSHAKE_RECORD || (bytes.length > 1 && bytes[1] !== 3)) return { kind: 'plain' }
  const handshake = joinRecords(bytes)
  if (handshake === null) return { kind: 'malformed' }
  if (handshake.length < HANDSHAKE_HEADER) return { kind: 'partial' }
  const length = handshake.readUIntBE(1, 3)
  if (handshake[0] !== CLIENT_HELLO || length > MAX_HELLO_BYTES) return { kind: 'malformed' }
  if (handshake.length < HANDSHAKE_HEADER + length) return { kind: 'partial' }
  try {
    return readHello(handshake.subarray(HANDSHAKE_HEADER, HANDSHAKE_HEADER + length))
  } catch {
    // A field reaches beyond the message.
    return { kind: 'malformed' }
  }
}

/** Returns the handshake bytes of all records; null for a record of another type or size. */
function joinRecords(bytes: Buffer): Buffer | null {
  const parts: Buffer[] = []
  for (let at = 0; at + RECORD_HEADER <= bytes.length; ) {
    const length = bytes.readUInt16BE(at + 3)
    if (bytes[at] !== HANDSHAKE_RECORD || length === 0 || length > 1 << 14) return null
    parts.push(bytes.subarray(at + RECORD_HEADER, at + RECORD_HEADER + length))
    at += RECORD_HEADER + length
  }
  return Buffer.concat(parts)
}

/** @throws RangeError for a field that is cut. */
function readHello(hello: Buffer): Greeting {
  const reader = createReader(hello)
  // Version and random.
  reader.take(2 + 32)
  reader.takeVector(1)
  reader.takeVector(2)
  reader.takeVector(1)
  const extensions = createReader(reader.isAtEnd() ? Buffer.alloc(0) : reader.takeVector(2))
  const names: (string | null)[] = []
  let isHidden = false
  while (!extensions.isAtEnd()) {
    const type = extensions.take(2).readUInt16BE()
    const content = extensions.takeVector(2)
    if (type === SERVER_NAME) names.push(readServerName(content))
    if (type === ENCRYPTED_CLIENT_HELLO) isHidden = true
  }
  if (names.length > 1 || !reader.isAtEnd() || names[0] === null) return { kind: 'malformed' }
  return { kind: 'tls', serverName: names[0] ?? null, isHidden }
}

/** Returns the single host name (RFC 6066, 3); null for any other content. */
function readServerName(content: Buffer): string | null {
  const list = createReader(createReader(content).takeVector(2))
  const type = list.take(1)[0]
  const name = list.takeVector(2)
  return type === HOST_NAME && list.isAtEnd() && name.length > 0 ? name.toString('latin1') : null
}

function createReader(bytes: Buffer) {
  let at = 0
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new RangeError('The message is cut')
    at += length
    return bytes.subarray(at - length, at)
  }
  return {
    take,
    /** Takes a field that is preceded by its length. */
    takeVector: (lengthBytes: number): Buffer => take(take(lengthBytes).readUIntBE(0, lengthBytes)),
    isAtEnd: () => at === bytes.length,
  }
}
