import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

const IV_BYTES = 12
const TAG_BYTES = 16

/** SHA-256 as hex: how tokens and keys of full entropy are kept. Not for passwords. */
export function sha256(text: string): string {
  return Bun.CryptoHasher.hash('sha256', text, 'hex')
}

/** Compares digests, so that neither length nor content shows in the time taken, for any bytes. */
export function isSameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(Bun.CryptoHasher.hash('sha256', given), Bun.CryptoHasher.hash('sha256', expected))
}

/** Seals secrets at rest. `purpose` names table, column and row, so that a sealed value is worthless elsewhere. */
export type Sealer = {
  seal(plain: string, purpose: string): string
  /** @throws Error when the value was altered, moved to another row, or sealed with another key. */
  open(sealed: string, purpose: string): string
  /** A key of its own for `purpose`, for HMACs. */
  deriveKey(purpose: string): Buffer
}

/** AES-256-GCM with a key derived from `masterKey`; a sealed value is `v1.` and base64url of IV, tag and text. */
export function createSealer(masterKey: string): Sealer {
  const deriveKey = (purpose: string) => Buffer.from(hkdfSync('sha256', masterKey, 'stead', purpose, 32))
  const key = deriveKey('seal')
  return {
    deriveKey,
    seal(plain, purpose) {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(purpose))
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return `v1.${Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')}`
    },
    open(sealed, purpose) {
      if (!sealed.startsWith('v1.')) throw new Error('Sealed value has an unknown form')
      const bytes = Buffer.from(sealed.slice(3), 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(purpose))
        .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
      return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    },
  }
}
