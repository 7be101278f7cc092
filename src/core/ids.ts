import { randomBytes } from 'node:crypto'

/** How the tokens begin that agents of a platform show to it; keys of users begin otherwise. */
export const AGENT_TOKEN_PREFIX = 'agt_'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** `prefix_` and 22 letters and digits: 131 random bits, so ids cannot be guessed or collide. */
export function newId(prefix: string): string {
  return `${prefix}_${randomText(22)}`
}

/** `prefix_` and a UUID that begins with the time: what is indexed by it grows at its end (RFC 9562, 5.7). */
export function newOrderedId(prefix: string): string {
  return `${prefix}_${Bun.randomUUIDv7()}`
}

/** Letters and digits, each drawn evenly; 43 of them carry 256 bits. */
export function randomText(length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 is the largest multiple of 62 in a byte: what lies above would favour the first letters.
      if (byte < 248 && text.length < length) text += ALPHABET[byte % 62]
    }
  }
  return text
}

/** A name for people and for DNS labels: lower case, at most 20 characters, and 8 hex digits that make it unique. */
export function newSlug(name: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 20)
    .replace(/^-|-$/g, '')
  return `${words || 'agent'}-${randomBytes(4).toString('hex')}`
}
