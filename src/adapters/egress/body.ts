import type { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import { createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib'

// Bun has it; the types of Node that come with it are older.
declare module 'zlib' {
  function createZstdDecompress(): Transform
}

/** More bytes than allowed came in, or came out of the decoder. */
export class TooMuch extends Error {}

/** A content encoding that we did not ask for, or several on top of each other. */
export class UnknownCoding extends Error {}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
}

/** Pieces of a byte each cost as much as whole ones. */
const MAX_CHUNKS = 50_000
const CHUNKS_A_TURN = 200

/** What we say we can read. */
export const ACCEPTED_CODINGS = 'gzip, br, zstd'

/**
 * The content of a body as it arrives, unpacked one layer at most. Ending the iteration early closes the connection.
 * @throws TooMuch above `maxWireBytes` as sent or `maxBytes` unpacked, or in too many pieces. @throws UnknownCoding before anything is read.
 */
export function decodeBody(
  chunks: AsyncIterable<Uint8Array>,
  coding: string,
  { maxWireBytes, maxBytes }: { maxWireBytes: number; maxBytes: number },
): AsyncIterable<Uint8Array> {
  if (coding === '' || coding === 'identity') return limit(chunks, Math.min(maxWireBytes, maxBytes))
  const createDecoder = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined
  if (!createDecoder) throw new UnknownCoding(`content-encoding ${coding}`)
  return limit(unpack(limit(chunks, maxWireBytes), createDecoder()), maxBytes)
}

async function* limit(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  let count = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new TooMuch(`more than ${maxBytes} bytes`)
    if (++count > MAX_CHUNKS) throw new TooMuch(`more than ${MAX_CHUNKS} pieces`)
    // Chunks that are there already come without a turn of the event loop between them.
    if (count % CHUNKS_A_TURN === 0) await setImmediate()
    yield chunk
  }
}

async function* unpack(chunks: AsyncIterable<Uint8Array>, decoder: Transform): AsyncGenerator<Uint8Array> {
  const feeding = pipeline(chunks, decoder)
  // Its failure destroys the decoder and so comes out of the iteration below; here it would be reported twice.
  feeding.catch(() => {})
  yield* decoder
  await feeding
}
