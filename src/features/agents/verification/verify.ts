import { and, eq, gt } from 'drizzle-orm'
import { type Attestation, type Attestations, COINBASE_ATTESTER } from '../../../adapters/chain/attestations.ts'
import type { Chain, SignatureQuestion } from '../../../adapters/chain/chain.ts'
import type { Ens } from '../../../adapters/chain/ens.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { randomText } from '../../../core/ids.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import { wallets } from '../../accounts/sign-in/tables.ts'
import type { Base } from '../../base.ts'
import { getAgent } from '../registry/agents.ts'
import type { AgentRow } from '../registry/tables.ts'
import type { Verification, VerificationChallenge, VerifiedAgent, VerifyAgentRequest } from './schemas.ts'
import { agentVerifications, type VerificationRow, verificationChallenges } from './tables.ts'

/**
 * Verifies a claim and stores it, replacing an earlier one.
 * @throws AppError `not_found` for a missing or foreign agent, and as `checkProof`.
 */
export async function verifyAgent(
  deps: ProofDeps,
  principal: Principal,
  id: string,
  request: VerifyAgentRequest,
): Promise<VerificationRow> {
  const agent = getAgent(deps.db, principal, id)
  const { challenge, ...proof } = await checkProof(deps, agent, request)
  return write(deps.db, (tx) => {
    getAgent(tx, principal, id)
    if (challenge !== null) consumeChallenge(tx, id, challenge)
    return saveProof(tx, { ...proof, agentId: id, verifiedAt: deps.clock.now() })
  })
}

function saveProof(tx: Tx, row: VerificationRow): VerificationRow {
  const proofs = tx.insert(agentVerifications).values(row)
  return proofs.onConflictDoUpdate({ target: agentVerifications.agentId, set: row }).returning().get()
}

/** Deletes a verification if there is one. @throws AppError `not_found` for a missing or foreign agent. */
export async function removeVerification(deps: { db: Db }, principal: Principal, id: string): Promise<void> {
  await write(deps.db, (tx) => {
    getAgent(tx, principal, id)
    tx.delete(agentVerifications).where(eq(agentVerifications.agentId, id)).run()
  })
}

export function findVerification(db: Db, agentId: string): VerificationRow | null {
  return db.select().from(agentVerifications).where(eq(agentVerifications.agentId, agentId)).get() ?? null
}

/** Converts a verification, or its absence, to the response. */
export function toVerification(row: VerificationRow | null): Verification {
  return {
    verified: row !== null,
    verificationType: row?.type ?? null,
    attestationUid: row?.attestationUid ?? null,
    verifierAddress: row?.verifierAddress ?? null,
    verifiedAt: row?.verifiedAt.toISOString() ?? null,
    metadata: row?.metadata ?? null,
  }
}

/** Builds the response to a valid claim. */
export function toVerified(row: VerificationRow): VerifiedAgent {
  const { verified, verificationType, attestationUid, verifiedAt } = toVerification(row)
  return { success: true, verified, verificationType, attestationUid, verifiedAt }
}

const LIFETIME_MS = 10 * 60_000
/** 22 of 62 characters: 131 bits. */
const NONCE_LENGTH = 22

/**
 * Creates the message that a wallet signs for an agent, replacing an earlier one.
 * @throws AppError `not_found` for a missing or foreign agent.
 */
export function createChallenge(
  deps: Base & { appUrl: string },
  principal: Principal,
  id: string,
): Promise<VerificationChallenge> {
  const nonce = randomText(NONCE_LENGTH)
  return write(deps.db, (tx) => {
    const agent = getAgent(tx, principal, id)
    const expiresAt = new Date(deps.clock.now().getTime() + LIFETIME_MS)
    const message = toMessage(deps.appUrl, agent, nonce, expiresAt)
    tx.insert(verificationChallenges)
      .values({ agentId: id, message, expiresAt })
      .onConflictDoUpdate({ target: verificationChallenges.agentId, set: { message, expiresAt } })
      .run()
    return { message, expiresAt: expiresAt.toISOString() }
  })
}

function toMessage(appUrl: string, agent: AgentRow, nonce: string, expiresAt: Date): string {
  const lines = [
    `${appUrl} asks you to vouch for an agent.`,
    '',
    `Agent: ${agent.id}`,
    `Account: ${agent.ownerId ?? 'operator'}`,
    `Nonce: ${nonce}`,
    `Expires: ${expiresAt.toISOString()}`,
  ]
  return lines.join('\n')
}

/**
 * Checks that `wallet` signed the agent's challenge.
 * @returns the challenge, to be consumed with the proof. @throws AppError `invalid`, and as the chain.
 */
async function requireSigned(
  deps: { db: Db; clock: Clock; verifySignature: (question: SignatureQuestion) => Promise<boolean> },
  agentId: string,
  { wallet, signature }: { wallet: `0x${string}`; signature: `0x${string}` },
): Promise<string> {
  const isLive = and(
    eq(verificationChallenges.agentId, agentId),
    gt(verificationChallenges.expiresAt, deps.clock.now()),
  )
  const challenge = deps.db.select().from(verificationChallenges).where(isLive).get()
  if (!challenge) throw challengeRequired()
  const { message } = challenge
  if (await deps.verifySignature({ address: wallet, message, signature })) return message
  throw new AppError('invalid', 'The signature is not of this wallet over the agent’s challenge', {
    code: 'VERIFICATION_FAILED',
  })
}

/** Consumes a challenge; of concurrent requests with one signature exactly one succeeds. @throws AppError `invalid`. */
function consumeChallenge(tx: Tx, agentId: string, message: string): void {
  const isThis = and(eq(verificationChallenges.agentId, agentId), eq(verificationChallenges.message, message))
  if (tx.delete(verificationChallenges).where(isThis).run().changes === 0) throw challengeRequired()
}

function challengeRequired(): AppError {
  return new AppError('invalid', 'Sign a new challenge: POST /api/agents/:id/verify/challenge gives one', {
    code: 'CHALLENGE_REQUIRED',
  })
}

export type ProofDeps = Base & { chain: Pick<Chain, 'verifySignature'>; attestations: Attestations; ens: Ens }

/** A verified claim; `challenge` is the signed message, null without a signature. */
type Proof = Pick<VerificationRow, 'type' | 'attestationUid' | 'verifierAddress' | 'metadata'> & {
  challenge: string | null
}

type Address = `0x${string}`
type Signed = { wallet: Address; signature: Address }

/**
 * Verifies a claim about an agent's owner on the chain.
 * @throws AppError `invalid` for a missing or false claim, `unavailable` when it cannot be checked.
 */
function checkProof(deps: ProofDeps, agent: AgentRow, request: VerifyAgentRequest): Promise<Proof> {
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

/** Checks that the attestation names a wallet with which the owner signs in, or one that signed the challenge. */
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

/** Rejects passkeys: no authenticator is registered to check an assertion against. */
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
