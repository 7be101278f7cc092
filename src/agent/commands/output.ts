import { orLate } from '../../core/concurrency/or-late.ts'

/**
 * Reads a stream to its end and keeps at most `maxBytes` of it, half from the beginning and half from the end, however
 * much there is.
 */
export function collectEnds(stream: ReadableStream<Uint8Array>, maxBytes: number) {
  const half = Math.floor(maxBytes / 2)
  const reader = stream.getReader()
  let head = new Uint8Array()
  let tail = new Uint8Array()
  let totalBytes = 0

  const add = (piece: Uint8Array) => {
    totalBytes += piece.length
    const toHead = piece.subarray(0, half - head.length)
    if (toHead.length > 0) head = join(head, toHead)
    const toTail = piece.subarray(toHead.length)
    if (toTail.length > 0) tail = join(tail, toTail).slice(-half)
  }
  const finished = (async () => {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      add(value)
    }
  })()

  return {
    /** What was written until the end, or until `waitMs` from now. */
    async read(waitMs: number): Promise<string> {
      await orLate(finished, waitMs, undefined)
      await reader.cancel()
      const left = totalBytes - head.length - tail.length
      const between = left > 0 ? `\n[${left} bytes left out]\n` : ''
      const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
      return left > 0 ? decode(head) + between + decode(tail) : decode(join(head, tail))
    },
  }
}

function join(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(one.length + other.length)
  both.set(one)
  both.set(other, one.length)
  return both
}
