/** Fields of an EIP-4361 message; the defaults suit a test platform except for address and nonce. */
export type MessageParts = {
  address?: string
  nonce?: string
  issuedAt?: string
  domain?: string
  uri?: string
  version?: number
  chainId?: number | string
  statement?: string | null
  /** Lines after the timestamps. */
  more?: string[]
}

/** Formats the message that a wallet signs, without validation, so that it may be invalid. */
export function siweMessage(parts: MessageParts): string {
  const { domain = 'localhost:3000', statement = 'Sign in to Stead' } = parts
  return [
    `${domain} wants you to sign in with your Ethereum account:`,
    parts.address,
    '',
    ...(statement === null ? [''] : [statement, '']),
    `URI: ${parts.uri ?? 'http://localhost:3000/login'}`,
    `Version: ${parts.version ?? 1}`,
    `Chain ID: ${parts.chainId ?? 8453}`,
    `Nonce: ${parts.nonce}`,
    `Issued At: ${parts.issuedAt}`,
    ...(parts.more ?? []),
  ].join('\n')
}
