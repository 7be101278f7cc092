import { and, eq } from 'drizzle-orm'
import type { SiweMessage } from 'siwe'
import type { Chain, SignatureQuestion } from '../../../adapters/chain/chain.ts'
import { AppError } from '../../../core/errors.ts'
import { randomText } from '../../../core/ids.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Base } from '../../base.ts'
import { recordAudit } from '../audit/audit.ts'
import { firstRights, insertUser, type SignUp } from '../registration/register.ts'
import { type UserRow, users } from '../users/tables.ts'
import { rememberOnce, takeOnce } from './attempts.ts'
import type { TakeOver } from './enter.ts'
import type { WalletAuthRequest } from './schemas.ts'
import { wallets } from './tables.ts'

export type WalletDeps = Base & {
  takeOver: TakeOver
  signUp: SignUp
  chain: Pick<Chain, 'verifySignature'>
  siweChainId: number
  appUrl: string
}

const NONCE_MS = 10 * 60_000
/** 22 of 62 characters: 131 bits. */
const NONCE_LENGTH = 22
const MAX_SIGNATURE_CHARACTERS = 2 + 2 * 16 * 1024

/** Issues the nonce of a message for a wallet to sign: single use, ten minutes, for any address. */
export async function issueNonce({ db, clock }: Pick<WalletDeps, 'db' | 'clock'>): Promise<string> {
  const nonce = randomText(NONCE_LENGTH)
  await write(db, (tx) => rememberOnce(tx, nonce, new Date(clock.now().getTime() + NONCE_MS)))
  return nonce
}

/**
 * Returns the account of the wallet that signed the EIP-4361 message; creates it at the first sign-in. The nonce is
 * used up first, even if a later check fails.
 * @throws AppError `invalid` without a nonce, `unauthenticated` for an invalid message or signature, `forbidden` when
 * the account is disabled or sign-up is not open, `internal` when the chain cannot be asked about a contract wallet.
 */
export async function signInWithWallet(
  deps: WalletDeps,
  request: WalletAuthRequest,
  address: string | null,
): Promise<UserRow> {
  const nonce = readNonce(request.message)
  if (nonce === null) throw new AppError('invalid', 'Missing nonce in signed message')
  if (!(await write(deps.db, (tx) => takeOnce(tx, nonce, deps.clock.now())))) {
    throw new AppError('unauthenticated', 'Invalid or expired nonce')
  }
  const message = await parseMessage(request.message)
  if (!message || message.nonce !== nonce) throw invalidSignature('not a message of EIP-4361')
  if (message.address.toLowerCase() !== request.address.toLowerCase()) {
    throw new AppError('unauthenticated', 'Signed wallet address mismatch')
  }
  requireForUs(deps, message)
  await requireSigned(deps, request, message)
  return enterWithWallet(deps, message.address.toLowerCase(), address)
}

function requireForUs({ appUrl, siweChainId, clock, log }: WalletDeps, message: SiweMessage): void {
  const fault = findFault(message, { origin: appUrl, chainId: siweChainId, now: clock.now() })
  if (fault === null) return
  log.info({ fault, domain: message.domain, chainId: message.chainId }, 'wallet sign-in refused')
  throw invalidSignature(fault)
}

async function requireSigned(
  { chain }: WalletDeps,
  { message, signature }: WalletAuthRequest,
  { address }: SiweMessage,
): Promise<void> {
  if (signature.length > MAX_SIGNATURE_CHARACTERS) throw invalidSignature('too long')
  if (!isHex(signature) || !isHex(address)) throw invalidSignature('not hex')
  const question: SignatureQuestion = { address, message, signature }
  const isSigned = await chain.verifySignature(question).catch((error: unknown) => {
    // The signature could not be verified; the wallet may try again.
    throw new AppError('internal', 'Auth failed', {}, { cause: error })
  })
  if (!isSigned) throw invalidSignature('signature')
}

function isHex(text: string): text is `0x${string}` {
  return /^0x(?:[0-9a-f]{2})*$/i.test(text)
}

/** All reasons get the same message; `reason` is the cause for the log. */
function invalidSignature(reason: string): AppError {
  return new AppError('unauthenticated', 'Invalid signature', {}, { cause: reason })
}

function enterWithWallet(deps: WalletDeps, wallet: string, address: string | null): Promise<UserRow> {
  return write(deps.db, (tx) => {
    const user = findByWallet(tx, deps.siweChainId, wallet) ?? linkWallet(tx, deps, wallet, address)
    if (user.disabledAt) throw new AppError('forbidden', 'This account is disabled')
    return user
  })
}

function findByWallet(tx: Tx, chainId: number, address: string): UserRow | null {
  const row = tx
    .select({ user: users })
    .from(wallets)
    .innerJoin(users, eq(users.id, wallets.userId))
    .where(and(eq(wallets.chainId, chainId), eq(wallets.address, address)))
    .get()
  return row?.user ?? null
}

/** Links the account with the wallet's placeholder address, or creates it. */
function linkWallet(tx: Tx, deps: WalletDeps, wallet: string, address: string | null): UserRow {
  const { signUp, siweChainId, clock } = deps
  const now = clock.now()
  const email = `${wallet}@${signUp.walletEmailDomain}`
  const existing = tx.select().from(users).where(eq(users.email, email)).get()
  // An account with a password was registered under this address by someone without the wallet.
  if (existing?.passwordHash) deps.takeOver(tx, existing.id)
  const user = existing ?? createUser(tx, { wallet, email, signUp, now })
  tx.insert(wallets).values({ chainId: siweChainId, address: wallet, userId: user.id, createdAt: now }).run()
  const action = existing ? 'sign-in.link' : 'sign-in.create'
  recordAudit(tx, { actor: user.id, action, target: user.id, detail: { wallet, chainId: siweChainId }, address }, now)
  return tx.select().from(users).where(eq(users.id, user.id)).get() ?? user
}

function createUser(
  tx: Tx,
  { wallet, email, signUp, now }: { wallet: string; email: string; signUp: SignUp; now: Date },
): UserRow {
  if (signUp.mode !== 'open') throw new AppError('forbidden', 'Sign-up is closed')
  const name = `Wallet:${wallet.slice(0, 6)}…${wallet.slice(-4)}`
  return insertUser(tx, { email, name, passwordHash: null }, { now, ...firstRights(tx, signUp) })
}

/** Requirements for a message: our origin, our chain, and the current time. */
type MessageRules = { origin: string; chainId: number; now: Date }

const MAX_AGE_MS = 10 * 60_000
const MAX_AHEAD_MS = 60_000

/** Reads the nonce of an unparsed message. The statement may contain a similar line, so the last one counts. */
export function readNonce(message: string): string | null {
  return [...message.matchAll(/^Nonce: (\S+)$/gm)].at(-1)?.[1] ?? null
}

/** Parses an EIP-4361 message; lower-case addresses are accepted. @returns null for anything else. */
async function parseMessage(message: string): Promise<SiweMessage | null> {
  const [{ SiweMessage }, { getAddress }] = await Promise.all([import('siwe'), import('viem')])
  const checksummed = message.replace(/^0x[0-9a-f]{40}$/m, (address) => getAddress(address))
  try {
    return new SiweMessage(checksummed)
  } catch {
    return null
  }
}

/** Returns the first rule that the message violates, for the log, or null. */
function findFault(message: SiweMessage, { origin, chainId, now }: MessageRules): string | null {
  const { host, protocol } = new URL(origin)
  if (message.version !== '1') return 'version'
  if (message.domain !== host) return 'domain'
  if (message.scheme !== undefined && `${message.scheme}:` !== protocol) return 'scheme'
  if (message.uri !== origin && !message.uri.startsWith(`${origin}/`)) return 'uri'
  if (message.chainId !== chainId) return 'chain'
  return findTimeFault(message, now.getTime())
}

/** Comparisons are written so that unparsable times (`NaN`) fail. */
function findTimeFault({ issuedAt = '', notBefore, expirationTime }: SiweMessage, now: number): string | null {
  const issued = Date.parse(issuedAt)
  if (!(issued >= now - MAX_AGE_MS && issued <= now + MAX_AHEAD_MS)) return 'issued at'
  if (notBefore !== undefined && !(Date.parse(notBefore) <= now)) return 'not before'
  if (expirationTime !== undefined && !(Date.parse(expirationTime) > now)) return 'expiration time'
  return null
}
