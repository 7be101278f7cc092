import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

const IV_BYTES = 12
const TAG_BYTES = 16

/** Returns SHA-256 as hex, for tokens and keys with full entropy. Not for passwords. */
export function sha256(text: string): string {
  return Bun.CryptoHasher.hash('sha256', text, 'hex')
}

/** Compares digests, so timing reveals neither length nor content. */
export function isSameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(Bun.CryptoHasher.hash('sha256', given), Bun.CryptoHasher.hash('sha256', expected))
}

/** The columns with sealed values; `SEALED_COLUMNS` maps them to tables. */
export type SealedPlace =
  | 'agent_credentials'
  | 'agent_mcp_servers'
  | 'agent_revisions'
  | 'agents:accessToken'
  | 'agents:gatewayToken'
  | 'agents:secretConfig'
  | 'git_credentials'
  | 'idempotency_keys:answer'
  | 'identities:refreshToken'
  | 'installations:gatewayToken'
  | 'kept_keys'
  | 'managed_wallets'
  | 'mcp_authorization_attempts'
  | 'mcp_authorizations'
  | 'notice_channels'
  | 'provider_keys'
  | 'service_credentials'
  | 'sign_in_attempts:secrets'
  | 'users:twoFactorSecret'
  | 'webhook_channels'

/** Column and row of the value, or a purpose that is never stored. */
export type SealPurpose = `${SealedPlace}:${string}` | 'sign-in waiting for a second factor'

/**
 * Derived keys that must survive a rotation of the master key: memos of payments and labels of containers depend on
 * them.
 */
export const KEPT_KEYS = ['clone-memo', 'spec-digest'] as const
/** `operator-webhooks` is kept in the database of a cluster only. */
export type KeptKey = (typeof KEPT_KEYS)[number] | 'operator-webhooks'

/** Purposes of derived keys. Except for `KEPT_KEYS`, they change with the master key. */
export type DerivedKey =
  | KeptKey
  | 'cluster'
  | 'csrf'
  | 'egress'
  | 'gateway-challenges'
  | 'key-check'
  | 'known-devices'
  | 'pairing-codes'
  | 'proof-of-work'
  | 'seal'
  | 'social-identity'

/** Encrypts secrets at rest. `purpose` names table, column and row, so a sealed value cannot be used elsewhere. */
export type Sealer = {
  seal(plain: string, purpose: SealPurpose): string
  /** @throws Error when the value was altered, moved to another row or sealed with another key. */
  unseal(sealed: string, purpose: SealPurpose): string
  /** Derives a key for HMACs. */
  deriveKey(purpose: DerivedKey): Buffer
}

/**
 * AES-256-GCM with a key derived from `masterKey`. A sealed value is `v1.` and the base64url of IV, tag and ciphertext.
 */
export function createSealer(masterKey: string): Sealer {
  const deriveKey = (purpose: DerivedKey) => Buffer.from(hkdfSync('sha256', masterKey, 'stead', purpose, 32))
  const key = deriveKey('seal')
  return {
    deriveKey,
    seal(plain, purpose) {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(purpose))
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return `v1.${Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')}`
    },
    unseal(sealed, purpose) {
      if (!sealed.startsWith('v1.')) throw new Error('Sealed value has an unknown form')
      const bytes = Buffer.from(sealed.slice(3), 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(purpose))
        .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
      return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    },
  }
}
