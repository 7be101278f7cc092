import type { QueryClient } from '@tanstack/react-query'
import { z } from 'zod'
import { NonceResponse, SignedInResponse } from '../../src/features/accounts/sign-in/schemas.ts'
import { api, request } from '../api/request.ts'
import { startSession } from './session.ts'

/** What a wallet in the browser offers (EIP-1193). */
export type Wallet = { request: (call: { method: string; params?: unknown[] }) => Promise<unknown> }

declare global {
  interface Window {
    ethereum?: Wallet
  }
}

const Accounts = z.tuple([z.string().regex(/^0x[0-9a-fA-F]{40}$/)], z.unknown())

/** The browser's wallet, if it has one. */
export function findWallet(): Wallet | null {
  return window.ethereum ?? null
}

/**
 * Has the wallet sign a message for this site and signs in with it; an unknown wallet becomes a new account.
 * @throws ApiError of the server; anything else when the wallet refuses.
 */
export async function signInWithWallet(client: QueryClient, wallet: Wallet, chainId: number): Promise<void> {
  const address = await askForAddress(wallet)
  const { nonce } = await request(NonceResponse, api.GET('/api/auth/nonce'))
  const message = signInMessage({ address, chainId, nonce, host: location.host, origin: location.origin }, new Date())
  const signature = await sign(wallet, address, message)
  await request(SignedInResponse, api.POST('/api/wallet-auth', { body: { address, message, signature } }))
  await startSession(client)
}

/** Has the wallet sign a text that the server gave (EIP-191). Throws whatever the wallet throws when it refuses. */
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

/** The text of EIP-4361; wallets show it and warn when `host` is not the page's own. */
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
