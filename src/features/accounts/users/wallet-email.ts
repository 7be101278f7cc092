/** Is it the address that stands for a wallet? Wallets are known by address and chain, so nobody may take one as e-mail. */
export function isWalletEmail(email: string, domain: string): boolean {
  return /^0x[0-9a-f]{40}@/.test(email) && email.endsWith(`@${domain}`)
}
