import { eq } from 'drizzle-orm'
import { type Attestation, type Attestations, COINBASE_ATTESTER } from '../../../adapters/chain/attestations.ts'
import type { Chain } from '../../../adapters/chain/chain.ts'
import type { Ens } from '../../../adapters/chain/ens.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { wallets } from '../../accounts/sign-in/tables.ts'
import type { AgentRow } from '../registry/tables.ts'
import { requireSigned } from './challenge.ts'
import type { VerifyRequest } from './schemas.ts'
import type { VerificationRow } from './tables.ts'

export type ProofDeps = {
  db: Db
  clock: Clock
  chain: Pick<Chain, 'verifySignature'>
  attestations: Attestations
  ens: Ens
}

/** What was found to be true; `challenge` is the text that was signed for it, null when none had to be. */
export type Proof = Pick<VerificationRow, 'type' | 'attestationUid' | 'verifierAddress' | 'metadata'> & {
  challenge: string | null
}

type Address = `0x${string}`
type Signed = { wallet: Address; signature: Address }

/**
 * Checks on the chain what a request says about an agent's owner.
 * @throws AppError `invalid` for what is missing or not true, `unavailable` when it cannot be checked.
 */
export function checkProof(deps: ProofDeps, agent: AgentRow, request: VerifyRequest): Promise<Proof> {
  const wallet = request.walletAddress ?? request.verifierAddress
  const signed = wallet && request.signature ? { wallet, signature: request.signature } : null
  const uid = request.attestationUid ?? null
  switch (request.verificationType) {
    case 'eas':
      return checkAttestation(deps, agent, uid, signed)
    case 'coinbase':
      return checkCoinbase(deps, agent, uid, signed)
    case 'ens':
      return checkName(deps, agent, signed)
    case 'webauthn':
      return refusePasskey(uid)
  }
}

/** The attestation is of, or for, a wallet that the owner signs in with, or one that signed the challenge. */
async function checkAttestation(deps: ProofDeps, agent: AgentRow, uid: string | null, signed: Signed | null) {
  if (!uid) throw new AppError('invalid', 'Attestation UID required for EAS verification')
  const attestation = await findValid(deps, uid)
  const parties = [attestation.recipient, attestation.attester].map((party) => party.toLowerCase())
  const own = signed ? [signed.wallet] : listWallets(deps.db, agent.ownerId)
  const verifierAddress = parties.find((party) => own.some((wallet) => wallet === party))
  if (!verifierAddress) {
    throw failed('The attestation is neither for nor by a wallet of yours: sign the challenge with one that it names')
  }
  const challenge = signed ? await requireSigned(signedOn(deps, deps.chain), agent.id, signed) : null
  return { type: 'eas', verifierAddress, challenge, ...described(attestation) } as const
}

async function checkCoinbase(deps: ProofDeps, agent: AgentRow, given: string | null, signed: Signed | null) {
  if (!signed) throw new AppError('invalid', 'Signature required for Coinbase verification')
  const uid = given ?? (await deps.attestations.findCoinbaseUid(signed.wallet))
  if (!uid) throw failed('Coinbase has not attested this wallet')
  const attestation = await findValid(deps, uid)
  const isCoinbase = attestation.attester.toLowerCase() === COINBASE_ATTESTER.toLowerCase()
  if (!isCoinbase || attestation.recipient.toLowerCase() !== signed.wallet) {
    throw failed('The attestation is not one of Coinbase for this wallet')
  }
  const challenge = await requireSigned(signedOn(deps, deps.chain), agent.id, signed)
  return { type: 'coinbase', verifierAddress: signed.wallet, challenge, ...described(attestation) } as const
}

async function checkName(deps: ProofDeps, agent: AgentRow, signed: Signed | null) {
  if (!signed) throw new AppError('invalid', 'Signature and wallet address required for ENS verification')
  const name = await deps.ens.findPrimaryName(signed.wallet)
  if (name === null) throw failed('The wallet has no primary ENS name that leads back to it')
  const challenge = await requireSigned(signedOn(deps, deps.ens), agent.id, signed)
  const found = { attestationUid: null, verifierAddress: signed.wallet, metadata: { name } }
  return { type: 'ens', challenge, ...found } as const
}

/** There is no authenticator that an assertion could be checked against, and what cannot be checked is refused. */
async function refusePasskey(uid: string | null): Promise<never> {
  if (!uid) throw new AppError('invalid', 'Attestation required for WebAuthn verification')
  throw new AppError('unavailable', 'WebAuthn verification is not available: no passkey can be registered here', {
    code: 'NOT_CONFIGURED',
  })
}

async function findValid({ attestations, clock }: ProofDeps, uid: string): Promise<Attestation> {
  if (!isUid(uid)) throw new AppError('invalid', 'attestationUid must be 0x and 64 hex digits')
  const attestation = await attestations.find(uid)
  if (!attestation) throw failed('There is no such attestation')
  if (attestation.isRevoked) throw failed('The attestation was revoked')
  if (attestation.expiresAt && attestation.expiresAt <= clock.now()) throw failed('The attestation has expired')
  return attestation
}

function isUid(text: string): text is `0x${string}` {
  return /^0x[0-9a-fA-F]{64}$/.test(text)
}

function described({ uid, schema, attester, recipient }: Attestation) {
  return { attestationUid: uid, metadata: { schema, attester, recipient } }
}

function listWallets(db: Db, userId: string | null): string[] {
  if (userId === null) return []
  const rows = db.select({ address: wallets.address }).from(wallets).where(eq(wallets.userId, userId)).all()
  return rows.map(({ address }) => address)
}

function signedOn({ db, clock }: ProofDeps, { verifySignature }: Pick<Chain, 'verifySignature'>) {
  return { db, clock, verifySignature }
}

function failed(message: string): AppError {
  return new AppError('invalid', message, { code: 'VERIFICATION_FAILED' })
}
