type HelloOptions = {
  names?: (string | null)[]
  /** Adds an encrypted ClientHello. */
  ech?: boolean
  /** Splits the message over records of this size. */
  recordBytes?: number
  /** Name type of the server name; 0 is a host name. */
  nameType?: number
}

/** Builds a TLS 1.2 ClientHello that asks for `names` (null for no server name). */
export function clientHello({ names = [], ech = false, recordBytes = 16_384, nameType = 0 }: HelloOptions): Buffer {
  const extensions = [
    ...names.flatMap((name) => (name === null ? [] : [extension(0, vector(2, entry(name, nameType)))])),
    ...(ech ? [extension(0xfe0d, Buffer.alloc(64))] : []),
    extension(0x000b, Buffer.from([1, 0])),
  ]
  const body = Buffer.concat([
    ...[Buffer.from([3, 3]), Buffer.alloc(32, 7), vector(1, Buffer.alloc(0))],
    ...[vector(2, Buffer.from([0x13, 0x01, 0xc0, 0x2f])), vector(1, Buffer.from([0]))],
    vector(2, Buffer.concat(extensions)),
  ])
  const message = Buffer.concat([Buffer.from([1]), vector(3, body)])
  const records: Buffer[] = []
  for (let at = 0; at < message.length; at += recordBytes) {
    records.push(Buffer.concat([Buffer.from([22, 3, 1]), vector(2, message.subarray(at, at + recordBytes))]))
  }
  return Buffer.concat(records)
}

function entry(name: string, nameType: number): Buffer {
  return Buffer.concat([Buffer.from([nameType]), vector(2, Buffer.from(name, 'latin1'))])
}

function extension(type: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([type >> 8, type & 255]), vector(2, content)])
}

/** Precedes bytes by their length in `lengthBytes` bytes. */
function vector(lengthBytes: number, content: Buffer): Buffer {
  const length = Buffer.alloc(lengthBytes)
  length.writeUIntBE(content.length, 0, lengthBytes)
  return Buffer.concat([length, content])
}
