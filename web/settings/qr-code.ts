import { alignmentCount, toQrBytes } from './qr-bytes.ts'

/** Level L and mask 0 with their check bits (ISO/IEC 18004, annex C). Readers take any mask; one is enough for a screen. */
const FORMAT = 0b111_0111_1100_0100

/** `null` is still free. */
type Modules = (boolean | null)[][]

/** A QR code in byte mode: rows of modules, dark ones true, without the light border. @throws RangeError beyond 858 bytes. */
export function qrCode(text: string): boolean[][] {
  const { version, bytes } = toQrBytes(text)
  const size = version * 4 + 17
  const modules: Modules = Array.from({ length: size }, () => new Array<boolean | null>(size).fill(null))
  drawFinders(modules)
  drawAlignments(modules, version)
  drawTiming(modules)
  drawFormat(modules)
  if (version >= 7) drawVersion(modules, version)
  drawBytes(modules, bytes)
  return modules.map((row) => row.map((module) => module === true))
}

/** Three squares in the corners with their light rims. */
function drawFinders(modules: Modules): void {
  const far = modules.length - 7
  for (const [top, left] of [
    [0, 0],
    [0, far],
    [far, 0],
  ] as const) {
    for (let row = -1; row <= 7; row++) {
      for (let column = -1; column <= 7; column++) {
        const ring = Math.max(Math.abs(row - 3), Math.abs(column - 3))
        set(modules, top + row, left + column, ring !== 2 && ring !== 4)
      }
    }
  }
}

function drawAlignments(modules: Modules, version: number): void {
  const centers = alignmentCenters(version)
  const last = centers.length - 1
  for (const [i, row] of centers.entries()) {
    for (const [j, column] of centers.entries()) {
      const isAtFinder = (i === 0 && (j === 0 || j === last)) || (i === last && j === 0)
      if (!isAtFinder) drawAlignment(modules, row, column)
    }
  }
}

function drawAlignment(modules: Modules, row: number, column: number): void {
  for (let y = -2; y <= 2; y++) {
    for (let x = -2; x <= 2; x++) set(modules, row + y, column + x, Math.max(Math.abs(y), Math.abs(x)) !== 1)
  }
}

/** The first stands at 6, the others in even steps from the far side. */
function alignmentCenters(version: number): number[] {
  const count = alignmentCount(version)
  if (count === 0) return []
  const far = version * 4 + 10
  const step = Math.ceil((far - 6) / (2 * (count - 1))) * 2
  return [6, ...Array.from({ length: count - 1 }, (_, index) => far - (count - 2 - index) * step)]
}

/** The dotted lines between the finders. */
function drawTiming(modules: Modules): void {
  for (let at = 8; at < modules.length - 8; at++) {
    set(modules, 6, at, at % 2 === 0)
    set(modules, at, 6, at % 2 === 0)
  }
}

/** Twice, around the first finder and beside the two others; and the one module that is always dark. */
function drawFormat(modules: Modules): void {
  const { length: size } = modules
  for (let bit = 0; bit < 15; bit++) {
    const isDark = ((FORMAT >> bit) & 1) === 1
    const down = bit < 6 ? bit : bit < 8 ? bit + 1 : size - 15 + bit
    const across = bit < 8 ? size - 1 - bit : bit < 9 ? 7 : 14 - bit
    set(modules, down, 8, isDark)
    set(modules, 8, across, isDark)
  }
  set(modules, size - 8, 8, true)
}

/** Twice, in blocks of 3 by 6 beside the far finders: the version and twelve check bits. */
function drawVersion(modules: Modules, version: number): void {
  let rest = version
  for (let step = 0; step < 12; step++) rest = (rest << 1) ^ ((rest >> 11) * 0x1f25)
  const bits = (version << 12) | rest
  for (let bit = 0; bit < 18; bit++) {
    const isDark = ((bits >> bit) & 1) === 1
    const near = Math.floor(bit / 3)
    const far = modules.length - 11 + (bit % 3)
    set(modules, near, far, isDark)
    set(modules, far, near, isDark)
  }
}

/** In columns of two from the right, up and down in turn, around what is there already; every other module is flipped. */
function drawBytes(modules: Modules, bytes: number[]): void {
  const { length: size } = modules
  let bit = 0
  for (let right = size - 1; right > 0; right -= right === 8 ? 3 : 2) {
    const isUpward = ((right + 1) & 2) === 0
    for (let step = 0; step < size; step++) {
      const row = isUpward ? size - 1 - step : step
      for (const column of [right, right - 1]) {
        if (modules[row]?.[column] !== null) continue
        const isSet = (((bytes[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1) === 1
        set(modules, row, column, isSet !== ((row + column) % 2 === 0))
        bit++
      }
    }
  }
}

function set(modules: Modules, row: number, column: number, isDark: boolean): void {
  const line = modules[row]
  if (line?.[column] !== undefined) line[column] = isDark
}
