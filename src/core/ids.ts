import { randomBytes } from 'node:crypto'

/** Prefix of the tokens that agents send to the platform. */
export const AGENT_TOKEN_PREFIX = 'agt_'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** `prefix_` and 22 letters and digits: 131 random bits, so ids cannot be guessed or collide. */
export function newId(prefix: string): string {
  return `${prefix}_${randomText(22)}`
}

/** Returns `prefix_` and a UUID that starts with the time, so index entries are appended (RFC 9562, 5.7). */
export function newOrderedId(prefix: string): string {
  return `${prefix}_${Bun.randomUUIDv7()}`
}

/** Returns uniformly random letters and digits; 43 of them are 256 bits. */
export function randomText(length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 is the largest multiple of 62 below 256: larger bytes would favour the first letters.
      if (byte < 248 && text.length < length) text += ALPHABET[byte % 62]
    }
  }
  return text
}

/** Returns a readable DNS label: at most 20 characters of the name, and 8 hex digits that make it unique. */
export function newSlug(name: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 20)
    .replace(/^-|-$/g, '')
  return `${words || 'agent'}-${randomBytes(4).toString('hex')}`
}
