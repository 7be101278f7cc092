import { expect, test } from 'bun:test'
import { leadingZeroBits, solve } from './solve-proof.ts'

test('leadingZeroBits counts across bytes', () => {
  expect(leadingZeroBits(Uint8Array.of(0x80))).toBe(0)
  expect(leadingZeroBits(Uint8Array.of(0x00, 0x1f))).toBe(11)
  expect(leadingZeroBits(Uint8Array.of(0, 0))).toBe(16)
})

test('solve returns a nonce whose hash has the required zero bits', async () => {
  const { challenge, nonce } = await solve({ challenge: 'abc', difficulty: 9 })
  const hash = new Bun.CryptoHasher('sha256').update(`${challenge}:${nonce}`).digest()
  expect(leadingZeroBits(hash)).toBeGreaterThanOrEqual(9)
})
