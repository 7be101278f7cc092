import { AppError } from '../../../core/errors.ts'
import type { ProofOfWork } from './proof-of-work.ts'
import type { Challenge, Proof } from './schemas.ts'

/** Programs that say they crawl. Ordinary HTTP clients such as curl are welcome: installers and scripts use them. */
const CRAWLER = /bot\b|crawl|spider|slurp|headless(?!chrome)/i

/** How much a caller of the forms for strangers must show (`BOT_DETECTION`). */
export type BotDetection = { mode: 'off' | 'basic' | 'pow'; proofOfWork: ProofOfWork }

/**
 * A caller of a form for strangers: `honeypot` is the field that people never see, `proof` the work it has done. It comes
 * from a crowd when its network has sent the form many times.
 */
export type Suspect = {
  userAgent: string | undefined
  honeypot: string | undefined
  proof: Proof | undefined
  isFromCrowd?: boolean
}

/**
 * Lets people and honest programs pass; under `pow`, and under `basic` from a crowd, they bring a solved challenge, which
 * this call uses up.
 * @returns whether the caller needs no further proof. @throws AppError `forbidden` for a filled honeypot field or a declared crawler; with code `PROOF_REQUIRED` when the
 * proof is missing, wrong, too late or used.
 */
export async function requireHuman({ mode, proofOfWork }: BotDetection, suspect: Suspect): Promise<boolean> {
  if (mode === 'off') return true
  if (suspect.honeypot || CRAWLER.test(suspect.userAgent ?? '')) throw new AppError('forbidden', 'Access denied')
  if (suspect.proof && (await proofOfWork.accept(suspect.proof))) return true
  if (mode === 'pow' || suspect.isFromCrowd) throw proofRequired()
  return false
}

/** Returns a challenge for a caller; its difficulty is 0 where no proof is asked for. */
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
