import type { BodyFraming } from './head.ts'
import { BadProxyRequest } from './head.ts'

const MAX_SIZE_LINE = 18

/**
 * Creates a function that returns how many bytes of a chunk belong to the body, and whether it ends there. Chunk sizes
 * are read strictly: extensions and trailers, which servers read differently, are refused.
 * @throws BadProxyRequest
 */
export function createBodyMeter(framing: BodyFraming): (chunk: Uint8Array) => { bytes: number; isEnd: boolean } {
  return framing === 'chunked' ? createChunkedMeter() : createLengthMeter(framing)
}

function createLengthMeter(length: number) {
  let left = length
  return (chunk: Uint8Array) => {
    const bytes = Math.min(left, chunk.length)
    left -= bytes
    return { bytes, isEnd: left === 0 }
  }
}

function createChunkedMeter() {
  let line = ''
  let left = 0
  let state: 'size' | 'data' | 'after data' | 'end' = 'size'
  const readLine = (byte: number): string | null => {
    line += String.fromCharCode(byte)
    if (line.length > MAX_SIZE_LINE) throw new BadProxyRequest('A chunk is malformed')
    if (!line.endsWith('\r\n')) return null
    const whole = line.slice(0, -2)
    line = ''
    return whole
  }
  const readSize = (byte: number) => {
    const text = readLine(byte)
    if (text === null) return
    if (!/^[0-9a-fA-F]{1,12}$/.test(text)) throw new BadProxyRequest('The size of a chunk is malformed')
    left = Number.parseInt(text, 16)
    state = left === 0 ? 'end' : 'data'
  }
  const readEmptyLine = (byte: number): boolean => {
    const text = readLine(byte)
    if (text !== null && text !== '') throw new BadProxyRequest('A chunk is malformed')
    return text === ''
  }
  return (chunk: Uint8Array) => {
    for (let at = 0; at < chunk.length; ) {
      if (state === 'data') {
        const bytes = Math.min(left, chunk.length - at)
        left -= bytes
        at += bytes
        if (left === 0) state = 'after data'
        continue
      }
      const byte = chunk[at] ?? 0
      at += 1
      if (state === 'size') readSize(byte)
      else if (readEmptyLine(byte)) {
        if (state === 'end') return { bytes: at, isEnd: true }
        state = 'size'
      }
    }
    return { bytes: chunk.length, isEnd: false }
  }
}
