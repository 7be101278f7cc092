/** By version, from 1: bytes of error correction in a block, and blocks, at level L (ISO/IEC 18004, table 9). */
const CORRECTION_BYTES = [7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28]
const BLOCKS = [1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8]

/** What a QR code holds: the bytes to place, in their order, and the version (size) they need. */
export type QrBytes = { version: number; bytes: number[] }

/**
 * Text with length, padding and error correction, for the smallest version that takes it.
 * @throws RangeError beyond 858 bytes.
 */
export function toQrBytes(text: string): QrBytes {
  const content = [...new TextEncoder().encode(text)]
  const version = BLOCKS.findIndex((_, index) => content.length <= capacity(index + 1)) + 1
  if (version === 0) throw new RangeError('Too long for a QR code')
  const blocks = split(pad(content, version), BLOCKS[version - 1] ?? 1)
  const corrections = blocks.map((block) => correctionOf(block, CORRECTION_BYTES[version - 1] ?? 0))
  return { version, bytes: [...interleave(blocks), ...interleave(corrections)] }
}

/** How many alignment patterns stand in a row. */
export function alignmentCount(version: number): number {
  return version === 1 ? 0 : Math.floor(version / 7) + 2
}

function dataBytes(version: number): number {
  const count = alignmentCount(version)
  const patterns = version === 1 ? 0 : (25 * count - 10) * count - 55 + (version >= 7 ? 36 : 0)
  const modules = (16 * version + 128) * version + 64 - patterns
  return Math.floor(modules / 8) - (CORRECTION_BYTES[version - 1] ?? 0) * (BLOCKS[version - 1] ?? 0)
}

/** Mode and length take 12 bits up to version 9, then 20. */
function capacity(version: number): number {
  return dataBytes(version) - (version < 10 ? 2 : 3)
}

/** Byte mode (0100), the length, the content, four zero bits, then 236 and 17 in turn. */
function pad(content: number[], version: number): number[] {
  const { length } = content
  const count = [length >> 12, length >> 8, length >> 4, length].map((nibble) => nibble & 15)
  const halves = [4, ...count.slice(version < 10 ? 2 : 0), ...content.flatMap((byte) => [byte >> 4, byte & 15]), 0]
  const bytes: number[] = []
  for (let at = 0; at < halves.length; at += 2) bytes.push(((halves[at] ?? 0) << 4) | (halves[at + 1] ?? 0))
  for (let filler = 236; bytes.length < dataBytes(version); filler ^= 236 ^ 17) bytes.push(filler)
  return bytes
}

/** As even as it goes; the longer blocks come last. */
function split(bytes: number[], count: number): number[][] {
  const short = Math.floor(bytes.length / count)
  const shortCount = count - (bytes.length % count)
  const startOf = (index: number) => index * short + Math.max(0, index - shortCount)
  return Array.from({ length: count }, (_, index) => bytes.slice(startOf(index), startOf(index + 1)))
}

/** The first of each block, then the second of each, and so on. */
function interleave(blocks: number[][]): number[] {
  const longest = Math.max(...blocks.map(({ length }) => length))
  return Array.from({ length: longest }, (_, index) => blocks.flatMap((block) => block.slice(index, index + 1))).flat()
}

/** The remainder of a Reed-Solomon division. */
function correctionOf(block: number[], count: number): number[] {
  const generator = generatorOf(count)
  const rest = new Array<number>(count).fill(0)
  for (const byte of block) {
    const factor = byte ^ (rest.shift() ?? 0)
    rest.push(0)
    for (const [index, term] of generator.entries()) rest[index] = (rest[index] ?? 0) ^ multiply(term, factor)
  }
  return rest
}

/** The product of (x - 2^0) … (x - 2^(count-1)), without its leading 1. */
function generatorOf(count: number): number[] {
  const terms = new Array<number>(count).fill(0)
  terms[count - 1] = 1
  for (let step = 0, root = 1; step < count; step++, root = multiply(root, 2)) {
    for (let index = 0; index < count; index++)
      terms[index] = multiply(terms[index] ?? 0, root) ^ (terms[index + 1] ?? 0)
  }
  return terms
}

/** In the field of 256 with the polynomial 0x11d. */
function multiply(one: number, other: number): number {
  let product = 0
  for (let bit = 7; bit >= 0; bit--) product = (product << 1) ^ ((product >> 7) * 0x11d) ^ (((other >> bit) & 1) * one)
  return product
}
