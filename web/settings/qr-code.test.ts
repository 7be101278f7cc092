import { expect, test } from 'bun:test'
import { qrCode } from './qr-code.ts'

test('qrCode: the smallest version, as a reader took it', () => {
  const drawn = qrCode('STEAD').map((row) => row.map((isDark) => (isDark ? '#' : '.')).join(''))
  expect(drawn).toEqual([
    '#######..#.##.#######',
    '#.....#..###..#.....#',
    '#.###.#.##.##.#.###.#',
    '#.###.#..#.#..#.###.#',
    '#.###.#...#.#.#.###.#',
    '#.....#.....#.#.....#',
    '#######.#.#.#.#######',
    '........##.##........',
    '###.########.##...#..',
    '....##..#.#...#......',
    '.#...##.###.#...#.###',
    '.....#.#..#...#.....#',
    '....#.#.###.#.#.#.#.#',
    '........#..#.#.#.....',
    '#######.#..#.###.####',
    '#.....#.######.##....',
    '#.###.#.#.##.###..###',
    '#.###.#.......##.#.#.',
    '#.###.#.##..#...###.#',
    '#.....#.#.#...##...#.',
    '#######.###.#.###.###',
  ])
})

test('qrCode: versions with alignment patterns, version bits and several blocks, as a reader took them', () => {
  const checksum = (text: string) => {
    const rows = qrCode(text)
    return [rows.length, Bun.hash.crc32(rows.map((row) => row.map(Number).join('')).join(''))]
  }
  expect(checksum('a'.repeat(150))).toEqual([45, 3010830805])
  expect(checksum('a'.repeat(600))).toEqual([85, 597405208])
})

test('qrCode: more than 858 bytes are refused', () => {
  expect(qrCode('x'.repeat(858))).toHaveLength(97)
  expect(() => qrCode('x'.repeat(859))).toThrow(RangeError)
})
