import type { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import { createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib'

// Bun implements this; the bundled Node types are older.
declare module 'zlib' {
  function createZstdDecompress(): Transform
}

/** The body exceeded its size limit, compressed or decompressed. */
export class TooMuch extends Error {}

/** The response uses a content encoding that was not requested, or several. */
export class UnknownCoding extends Error {}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
}

/** Limits the chunk count because each chunk has a fixed cost, whatever its size. */
const MAX_CHUNKS = 50_000
const CHUNKS_A_TURN = 200

/** Value of Accept-Encoding. */
export const ACCEPTED_CODINGS = 'gzip, br, zstd'

/**
 * Yields the body decoded from at most one content encoding; leaving the iteration closes the connection.
 * @throws TooMuch above `maxWireBytes` received, `maxBytes` decoded or too many chunks.
 * @throws UnknownCoding before reading.
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
    // Buffered chunks arrive without yielding to the event loop, so yield explicitly.
    if (count % CHUNKS_A_TURN === 0) await setImmediate()
    yield chunk
  }
}

async function* unpack(chunks: AsyncIterable<Uint8Array>, decoder: Transform): AsyncGenerator<Uint8Array> {
  const feeding = pipeline(chunks, decoder)
  // A failure destroys the decoder and is thrown by the iteration below; this avoids a second report.
  feeding.catch(() => {})
  yield* decoder
  await feeding
}
