import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { createSealer, isSameSecret, type SealPurpose, sha256 } from './secrets.ts'

const sealer = createSealer('a master key of some length')
const unicode = fc.string({ unit: 'binary', maxLength: 200 })

describe('createSealer', () => {
  test('opens its own sealed value for any text and purpose', () => {
    fc.assert(
      fc.property(unicode, unicode, (plain, row) => {
        const purpose: SealPurpose = `kept_keys:${row}`
        expect(sealer.unseal(sealer.seal(plain, purpose), purpose)).toBe(plain)
      }),
    )
  })

  test('throws when any byte of a sealed value is changed', () => {
    const bytes = Buffer.from(sealer.seal('secret', 'agents:gatewayToken:a1').slice(3), 'base64url')
    for (const index of bytes.keys()) {
      const altered = Buffer.from(bytes)
      altered.writeUInt8(bytes.readUInt8(index) ^ 1, index)
      expect(() => sealer.unseal(`v1.${altered.toString('base64url')}`, 'agents:gatewayToken:a1')).toThrow()
    }
  })

  test('throws when a sealed value is shortened', () => {
    const sealed = sealer.seal('secret', 'kept_keys:a')
    for (let length = 0; length < sealed.length; length++) {
      expect(() => sealer.unseal(sealed.slice(0, length), 'kept_keys:a')).toThrow()
    }
  })

  test('throws when a sealed value is moved to another row', () => {
    const sealed = sealer.seal('secret', 'agents:gatewayToken:a1')
    expect(() => sealer.unseal(sealed, 'agents:gatewayToken:a2')).toThrow()
  })

  test('throws when another key sealed the value', () => {
    const sealed = createSealer('another master key').seal('secret', 'kept_keys:a')
    expect(() => sealer.unseal(sealed, 'kept_keys:a')).toThrow()
  })

  test('returns another value each time it seals the same text', () => {
    expect(sealer.seal('secret', 'kept_keys:a')).not.toBe(sealer.seal('secret', 'kept_keys:a'))
  })

  test('derives one key for each purpose, the same each time', () => {
    expect(sealer.deriveKey('csrf')).toEqual(createSealer('a master key of some length').deriveKey('csrf'))
    expect(sealer.deriveKey('csrf')).not.toEqual(sealer.deriveKey('proof-of-work'))
    expect(sealer.deriveKey('csrf')).toHaveLength(32)
  })
})

test('isSameSecret returns whether two values are equal, for any bytes and lengths', () => {
  fc.assert(
    fc.property(unicode, unicode, (left, right) => {
      // Lone surrogates have no UTF-8 form, so compare the encoded bytes.
      const isSame = Buffer.from(left).equals(Buffer.from(right))
      expect(isSameSecret(left, right)).toBe(isSame)
      expect(isSameSecret(left, left)).toBe(true)
    }),
  )
})

test('sha256 returns the digests of the examples in FIPS 180-2', () => {
  expect(sha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})
