import { AppError } from '../../../core/errors.ts'
import type { ProofOfWork } from './proof-of-work.ts'
import type { Challenge, Proof } from './schemas.ts'

/** User agents of declared crawlers. Plain HTTP clients such as curl pass, because installers and scripts use them. */
const CRAWLER = /bot\b|crawl|spider|slurp|headless(?!chrome)/i

/** The `BOT_DETECTION` setting and the proof-of-work checker. */
export type BotDetection = { mode: 'off' | 'basic' | 'pow'; proofOfWork: ProofOfWork }

/**
 * A caller of a public form. `honeypot` is a hidden field that people leave empty; `isFromCrowd` means that its network
 * sent the form many times.
 */
export type Suspect = {
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
): Challenge {
  const challenge = proofOfWork.issue()
  const isAsked = mode === 'pow' || (mode === 'basic' && isFromCrowd)
  return isAsked ? challenge : { ...challenge, difficulty: 0 }
}

export function proofRequired(): AppError {
  return new AppError('forbidden', 'Access denied', { code: 'PROOF_REQUIRED' })
}
