import { AppError } from '../../core/errors.ts'

/** Programs that say they crawl. Ordinary HTTP clients such as curl are welcome: installers and scripts use them. */
const CRAWLER = /bot\b|crawl|spider|slurp|headless(?!chrome)/i

/**
 * @throws AppError `forbidden` for a filled honeypot field or a declared crawler, when `mode` is `basic`.
 */
export function requireHuman(
  mode: 'off' | 'basic' | 'pow',
  request: { userAgent: string | undefined; honeypot: string | undefined },
): void {
  if (mode === 'off') return
  if (request.honeypot || CRAWLER.test(request.userAgent ?? '')) throw new AppError('forbidden', 'Access denied')
}
