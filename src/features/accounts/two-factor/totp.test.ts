import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { TOTP } from 'otpauth'
import { createTotpSecret, findTotpStep, totpUri } from './codes.ts'

/** The secret of RFC 6238, appendix B, in Base32. */
const RFC_SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

// RFC 6238, appendix B: the last six of the eight digits there.
test.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
])('findTotpStep accepts, %d s after 1970, the code %s of the RFC', (seconds, code) => {
  expect(findTotpStep(RFC_SECRET, code, new Date(seconds * 1000))).toBe(Math.floor(seconds / 30))
})

test('findTotpStep accepts a code of its own step and of one step before or after', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1_500_000_000, max: 2_500_000_000 }),
      fc.integer({ min: -200, max: 200 }),
      (madeAt, offset) => {
        const secret = createTotpSecret()
        const code = new TOTP({ secret }).generate({ timestamp: madeAt * 1000 })
        const madeIn = Math.floor(madeAt / 30)
        const askedIn = Math.floor((madeAt + offset) / 30)
        const found = findTotpStep(secret, code, new Date((madeAt + offset) * 1000))
        if (Math.abs(askedIn - madeIn) <= 1) expect(found).toBe(madeIn)
        else expect(found).not.toBe(madeIn)
      },
    ),
  )
})

test.each(['', '12345', '1234567', 'abcdef', '-12345', '１２３４５６'])(
  'findTotpStep, when given %j, returns null',
  (code) => {
    expect(findTotpStep(RFC_SECRET, code, new Date(59_000))).toBeNull()
  },
)

test('totpUri returns a valid URL for any account name', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (account) => {
      const uri = new URL(totpUri(RFC_SECRET, account))
      expect(uri.protocol).toBe('otpauth:')
      expect(uri.searchParams.get('secret')).toBe(RFC_SECRET)
      expect(uri.searchParams.get('issuer')).toBe('Stead')
    }),
  )
})
