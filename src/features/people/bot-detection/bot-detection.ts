import { AppError } from '../../../core/errors.ts'
import type { ProofOfWork } from './proof-of-work.ts'
import type { Proof } from './schemas.ts'

/** Programs that say they crawl. Ordinary HTTP clients such as curl are welcome: installers and scripts use them. */
const CRAWLER = /bot\b|crawl|spider|slurp|headless(?!chrome)/i

/** How much a caller of the forms for strangers must show (`BOT_DETECTION`). */
export type BotDetection = { mode: 'off' | 'basic' | 'pow'; proofOfWork: ProofOfWork }

/** What is known of a caller: `honeypot` is the field that people never see, `proof` the work it has done. */
export type Suspect = { userAgent: string | undefined; honeypot: string | undefined; proof: Proof | undefined }

/**
 * Lets people and honest programs pass; under `pow` they bring a solved challenge, which this call uses up.
 * @throws AppError `forbidden` for a filled honeypot field or a declared crawler; with code `PROOF_REQUIRED` when the
 * proof is missing, wrong, too late or used.
 */
export async function requireHuman({ mode, proofOfWork }: BotDetection, suspect: Suspect): Promise<void> {
  if (mode === 'off') return
  if (suspect.honeypot || CRAWLER.test(suspect.userAgent ?? '')) throw new AppError('forbidden', 'Access denied')
  if (mode === 'basic') return
  if (suspect.proof && (await proofOfWork.accept(suspect.proof))) return
  throw new AppError('forbidden', 'Access denied', { code: 'PROOF_REQUIRED' })
}
