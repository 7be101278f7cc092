import { randomInt } from 'node:crypto'

const CODE_CHARS = 8
/** Without those that are taken for one another. */
const CODE_ALPHABET = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'

/** How long a code is good, and how many strangers wait with one at a channel at most. */
export const PAIRING_LASTS_MS = 60 * 60 * 1000
export const MAX_PAIRINGS = 20

/** What a stranger is told, and an owner lets them in with. */
export function newPairingCode(): string {
  return Array.from({ length: CODE_CHARS }, () => CODE_ALPHABET[randomInt(CODE_ALPHABET.length)]).join('')
}
