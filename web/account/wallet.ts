import { z } from 'zod'
import { NonceResponse, SignedInResponse } from '../../src/features/accounts/sign-in/schemas.ts'
import { api, request } from '../api/request.ts'
import { startSession } from './session.ts'

/** A browser wallet (EIP-1193). */
export type Wallet = { request: (call: { method: string; params?: unknown[] }) => Promise<unknown> }

declare global {
  interface Window {
    ethereum?: Wallet
  }
}

const Accounts = z.tuple([z.string().regex(/^0x[0-9a-fA-F]{40}$/)], z.unknown())

export function findBrowserWallet(): Wallet | null {
  return window.ethereum ?? null
}

/**
 * Signs in with a message signed by the wallet; an unknown wallet creates an account.
 * @throws ApiError from the server, or the wallet's own error when the user rejects.
 */
export async function signInWithWallet(wallet: Wallet, chainId: number): Promise<void> {
  const address = await askForAddress(wallet)
  const { nonce } = await request(NonceResponse, api.GET('/api/auth/nonce'))
  const message = signInMessage({ address, chainId, nonce, host: location.host, origin: location.origin }, new Date())
  const signature = await sign(wallet, address, message)
  await request(SignedInResponse, api.POST('/api/wallet-auth', { body: { address, message, signature } }))
  await startSession()
}

/** Signs a server-provided text (EIP-191). @throws the wallet's own error when the user rejects. */
export async function signText(wallet: Wallet, text: string): Promise<{ address: string; signature: string }> {
  const address = await askForAddress(wallet)
  return { address, signature: await sign(wallet, address, text) }
}

async function askForAddress(wallet: Wallet): Promise<string> {
  const [account] = Accounts.parse(await wallet.request({ method: 'eth_requestAccounts' }))
  return account.toLowerCase()
}

async function sign(wallet: Wallet, address: string, text: string): Promise<string> {
  return z.string().parse(await wallet.request({ method: 'personal_sign', params: [toHex(text), address] }))
}

type SignInFacts = { address: string; chainId: number; nonce: string; host: string; origin: string }

/** Builds the EIP-4361 text; wallets warn when `host` differs from the page's own. */
export function signInMessage({ address, chainId, nonce, host, origin }: SignInFacts, now: Date): string {
  return [
    `${host} wants you to sign in with your Ethereum account:`,
    address,
    '',
    'Sign in to Stead.',
    '',
    `URI: ${origin}`,
    'Version: 1',
    `Chain ID: ${chainId}`,
    `Nonce: ${nonce}`,
    `Issued At: ${now.toISOString()}`,
  ].join('\n')
}

function toHex(text: string): string {
  return `0x${[...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
