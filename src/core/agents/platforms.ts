import { randomInt } from 'node:crypto'

/** Messengers that agents connect to; the built-in agent supports the first three. */
export const MESSENGERS = [
  'telegram',
  'discord',
  'slack',
  'whatsapp',
  'signal',
  'matrix',
  'msteams',
  'imessage',
] as const

/** Where a message was written: `web` is the dashboard or the API. */
export const PLATFORMS = ['web', 'mail', 'webhook', ...MESSENGERS] as const
export type PlatformName = (typeof PLATFORMS)[number]

const CODE_CHARS = 8
/** Without characters that look alike. */
const CODE_ALPHABET = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'

/** Lifetime of a code, and the maximum number of pending codes per channel. */
export const PAIRING_LASTS_MS = 60 * 60 * 1000
export const MAX_PAIRINGS = 20

/** Returns a code that a new contact receives and the owner enters to allow them. */
export function newPairingCode(): string {
  return Array.from({ length: CODE_CHARS }, () => CODE_ALPHABET[randomInt(CODE_ALPHABET.length)]).join('')
}
