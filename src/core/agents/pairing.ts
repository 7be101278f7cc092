import { randomInt } from 'node:crypto'

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
