import type { Mailer } from '../../../adapters/mail/mail.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { withoutUserinfo } from '../../../core/text/url-userinfo.ts'
import { composeMail } from '../../accounts/mails/mails.ts'
import type { MailTest } from './schemas.ts'

/** Sends at once instead of by the queue, because somebody waits. @throws AppError `unavailable` NOT_CONFIGURED. */
export async function testMail(mailer: Mailer, to: string, signal: AbortSignal): Promise<MailTest> {
  if (!mailer.isConfigured) {
    throw new AppError('unavailable', 'Mail is not configured: set SMTP_URL', { code: 'NOT_CONFIGURED' })
  }
  try {
    await mailer.send(composeMail('test', to, null), signal)
    return { to, delivered: true, error: null }
  } catch (error) {
    return { to, delivered: false, error: withoutUserinfo(errorMessage(error)) }
  }
}
