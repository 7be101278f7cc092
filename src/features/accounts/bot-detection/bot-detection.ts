import { createHmac, randomBytes } from 'node:crypto'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { isSameSecret, sha256 } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { throttles } from '../users/tables.ts'
import type { Proof, ProofChallenge } from './schemas.ts'

/** User agents of declared crawlers. Plain HTTP clients such as curl pass, because installers and scripts use them. */
const CRAWLER = /bot\b|crawl|spider|slurp|headless(?!chrome)/i

/** The `BOT_DETECTION` setting and the proof-of-work checker. */
export type BotDetection = { mode: 'off' | 'basic' | 'pow'; proofOfWork: ProofOfWork }

/**
 * A caller of a public form. `honeypot` is a hidden field that people leave empty; `isFromCrowd` means that its network
 * sent the form many times.
 */
type Suspect = {
  userAgent: string | undefined
  honeypot: string | undefined
  proof: Proof | undefined
  isFromCrowd?: boolean
}

/**
 * Rejects bots. Mode `pow`, and mode `basic` for crowded networks, require a solved challenge, which this call uses up.
 * @returns whether the caller needs no further proof.
 * @throws AppError `forbidden` for a filled honeypot or a declared crawler, with code `PROOF_REQUIRED` when the proof
 * is missing, wrong, expired or used.
 */
export async function requireHuman({ mode, proofOfWork }: BotDetection, suspect: Suspect): Promise<boolean> {
  if (mode === 'off') return true
  if (suspect.honeypot || CRAWLER.test(suspect.userAgent ?? '')) throw new AppError('forbidden', 'Access denied')
  if (suspect.proof && (await proofOfWork.accept(suspect.proof))) return true
  if (mode === 'pow' || suspect.isFromCrowd) throw proofRequired()
  return false
}

/** Returns a challenge; its difficulty is 0 when no proof is required. */
export function issueChallenge(
  { mode, proofOfWork }: BotDetection,
  { isFromCrowd }: { isFromCrowd: boolean },
): ProofChallenge {
  const challenge = proofOfWork.issue()
  const isAsked = mode === 'pow' || (mode === 'basic' && isFromCrowd)
  return isAsked ? challenge : { ...challenge, difficulty: 0 }
}

export function proofRequired(): AppError {
  return new AppError('forbidden', 'Access denied', { code: 'PROOF_REQUIRED' })
}

/** About 260,000 hashes, one or two seconds in a browser. */
export const DIFFICULTY_BITS = 18
const LIFETIME_MS = 10 * 60_000

type ProofOfWork = {
  issue(): ProofChallenge
  /** Returns whether the proof solves an unexpired challenge of this server for the first time, and uses it up. */
  accept(proof: Proof): Promise<boolean>
}

/**
 * Creates proof-of-work challenges: the SHA-256 of `challenge:nonce` must start with `difficulty` zero bits. Challenges
 * are signed, so only solved ones are stored, until they expire.
 */
export function createProofOfWork(deps: { db: Db; clock: Clock; key: Buffer; difficulty: number }): ProofOfWork {
  const sign = (text: string) => createHmac('sha256', deps.key).update(text).digest('hex')

  return {
    issue() {
      const expiresAt = new Date(deps.clock.now().getTime() + LIFETIME_MS)
      const text = `${randomBytes(16).toString('hex')}.${expiresAt.getTime().toString(16)}`
      return {
        challenge: `${text}.${sign(text)}`,
        difficulty: deps.difficulty,
        expiresAt: expiresAt.toISOString(),
      }
    },
    async accept({ challenge, nonce }) {
      const [id = '', expiry = ''] = challenge.split('.')
      const text = `${id}.${expiry}`
      if (!isSameSecret(challenge, `${text}.${sign(text)}`)) return false
      const expiresAt = new Date(Number.parseInt(expiry, 16))
      if (expiresAt <= deps.clock.now()) return false
      if (leadingZeroBits(sha256(`${challenge}:${nonce}`)) < deps.difficulty) return false
      return isFirstUse(deps.db, challenge, expiresAt)
    },
  }
}

async function isFirstUse(db: Db, challenge: string, resetAt: Date): Promise<boolean> {
  const row = { key: `proof:${sha256(challenge)}`, count: 1, resetAt }
  const { changes } = await write(db, (tx) => tx.insert(throttles).values(row).onConflictDoNothing().run())
  return changes === 1
}

function leadingZeroBits(hex: string): number {
  const zeros = /^0*/.exec(hex)?.[0].length ?? 0
  const next = hex[zeros]
  return zeros * 4 + (next === undefined ? 0 : Math.clz32(Number.parseInt(next, 16)) - 28)
}
