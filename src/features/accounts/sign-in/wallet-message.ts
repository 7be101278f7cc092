import type { SiweMessage } from 'siwe'

/** What a message must be for: our origin, our chain, and now. */
export type MessageRules = { origin: string; chainId: number; now: Date }

const MAX_AGE_MS = 10 * 60_000
const MAX_AHEAD_MS = 60_000

/** The nonce of a message that is not parsed yet: the statement may hold a line that looks like one, so the last counts. */
export function readNonce(message: string): string | null {
  return [...message.matchAll(/^Nonce: (\S+)$/gm)].at(-1)?.[1] ?? null
}

/** Reads a message of EIP-4361, and of nothing else. An address in lower case is taken as it is meant. */
export async function parseMessage(message: string): Promise<SiweMessage | null> {
  const [{ SiweMessage }, { getAddress }] = await Promise.all([import('siwe'), import('viem')])
  const checksummed = message.replace(/^0x[0-9a-f]{40}$/m, (address) => getAddress(address))
  try {
    return new SiweMessage(checksummed)
  } catch {
    return null
  }
}

/** The first rule that a message breaks, in words for the log; null when it keeps them all. */
export function findFault(message: SiweMessage, { origin, chainId, now }: MessageRules): string | null {
  const { host, protocol } = new URL(origin)
  if (message.version !== '1') return 'version'
  if (message.domain !== host) return 'domain'
  if (message.scheme !== undefined && `${message.scheme}:` !== protocol) return 'scheme'
  if (message.uri !== origin && !message.uri.startsWith(`${origin}/`)) return 'uri'
  if (message.chainId !== chainId) return 'chain'
  return findTimeFault(message, now.getTime())
}

/** A time that cannot be read is `NaN` and keeps no rule. */
function findTimeFault({ issuedAt = '', notBefore, expirationTime }: SiweMessage, now: number): string | null {
  const issued = Date.parse(issuedAt)
  if (!(issued >= now - MAX_AGE_MS && issued <= now + MAX_AHEAD_MS)) return 'issued at'
  if (notBefore !== undefined && !(Date.parse(notBefore) <= now)) return 'not before'
  if (expirationTime !== undefined && !(Date.parse(expirationTime) > now)) return 'expiration time'
  return null
}
