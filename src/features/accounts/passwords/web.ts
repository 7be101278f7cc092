import { Hono } from 'hono'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import { endpoint, type Responses } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import { type BotDetection, requireHuman } from '../bot-detection/bot-detection.ts'
import { requestVerification, verifyEmail } from '../email-addresses/email-addresses.ts'
import { type KnownDevices, rememberDevice, visitorOf } from '../lockout/known-devices.ts'
import { MessageResponse } from '../notifications/schemas.ts'
import type { GrantCredits } from '../referrals/referrals.ts'
import { readSessionToken } from '../sessions/start-session.ts'
import { changePassword, forgotPassword, resetPasswordByLink } from './change-password.ts'
import type { Passwords } from './passwords.ts'
import {
  ChangePasswordRequest,
  ForgotPasswordRequest,
  PasswordChanged,
  PasswordReset,
  ResetPasswordRequest,
  VerifyEmailRequest,
} from './schemas.ts'

const changeAnswers: Responses = { responses: { 200: PasswordChanged }, errors: ['not_found', 'limited'] }
const forgotAnswers: Responses = { responses: { 200: MessageResponse }, errors: ['limited', 'unavailable'] }
const resetAnswers: Responses = { responses: { 200: PasswordReset }, errors: ['limited'] }
const sendLinkAnswers: Responses = {
  responses: { 200: MessageResponse },
  errors: ['not_found', 'limited', 'unavailable'],
}
const verifyEmailAnswers: Responses = { responses: { 200: MessageResponse }, errors: ['conflict'] }

/** Password and address verification routes of the web API. */
export function passwordWeb(
  deps: Base & {
    passwords: Passwords
    mailer: Mailer
    grantCredits: GrantCredits
    guards: Guards
    knownDevices: KnownDevices
    isHttps: boolean
    botDetection: BotDetection
    requestsPerMinute: { password: number }
  },
) {
  const app = new Hono<WebEnv>()
  // Each route has its own limit, so requesting links does not block following them.
  const seldom = () => limitRate(() => deps.requestsPerMinute.password, 'Too many requests')

  app.post(
    '/api/settings/password',
    endpoint({ summary: 'Changes your password', tag: 'Account', ...changeAnswers, worksOnFullDisk: true }),
    deps.guards.withSessionOr('Not authenticated'),
    validate('json', ChangePasswordRequest),
    async (c) => {
      const caller = { userId: c.var.user.id, sessionToken: readSessionToken(c), address: c.env.address }
      const { user, keysEnded } = await changePassword(deps, caller, c.req.valid('json'))
      rememberDevice(c, deps, user)
      const changed: PasswordChanged = { success: true, ...(keysEnded !== null && { keysEnded }) }
      return c.json(changed)
    },
  )

  app.post(
    '/api/auth/forgot-password',
    endpoint({ summary: 'Emails a password reset link', tag: 'Account', ...forgotAnswers, worksOnFullDisk: true }),
    seldom(),
    validate('json', ForgotPasswordRequest),
    async (c) => {
      const { email, website, proof } = c.req.valid('json')
      await requireHuman(deps.botDetection, { userAgent: c.req.header('user-agent'), honeypot: website, proof })
      await forgotPassword(deps, email, visitorOf(c, deps))
      return c.json(
        said(
          deps.mailer.isConfigured
            ? 'If an account exists, a reset link has been sent'
            : 'This server sends no mail. If an account exists, a reset link was written to its log',
        ),
      )
    },
  )

  app.post(
    '/api/auth/reset-password',
    endpoint({ summary: 'Sets a new password with the link', tag: 'Account', ...resetAnswers, worksOnFullDisk: true }),
    seldom(),
    validate('json', ResetPasswordRequest),
    async (c) => {
      const keysEnded = await resetPasswordByLink(deps, c.req.valid('json'), c.env.address)
      return c.json({ ...said('Password reset successfully'), ...(keysEnded !== null && { keysEnded }) })
    },
  )

  app.route('/', verifyEmailWeb(deps))
  return app
}

/** Address verification routes. */
function verifyEmailWeb(
  deps: Base & { mailer: Mailer; grantCredits: GrantCredits; guards: Guards; requestsPerMinute: { password: number } },
) {
  const app = new Hono<WebEnv>()
  const seldom = () => limitRate(() => deps.requestsPerMinute.password, 'Too many requests')

  app.post(
    '/api/auth/verify-email/send',
    endpoint({
      summary: 'Emails a link that verifies your address',
      tag: 'Account',
      ...sendLinkAnswers,
      worksOnFullDisk: true,
    }),
    deps.guards.withSession,
    seldom(),
    async (c) => {
      const isAsked = await requestVerification(deps, c.var.user.id)
      if (!isAsked) return c.json(said('Email already verified'))
      return c.json(
        said(
          deps.mailer.isConfigured
            ? 'A verification link has been sent'
            : 'This server sends no mail. A verification link was written to its log',
        ),
      )
    },
  )

  app.post(
    '/api/auth/verify-email',
    endpoint({ summary: 'Verifies an email address', tag: 'Account', ...verifyEmailAnswers, worksOnFullDisk: true }),
    seldom(),
    validate('json', VerifyEmailRequest),
    async (c) => {
      const outcome = await verifyEmail(deps, c.req.valid('json').token)
      return c.json(said(outcome === 'changed' ? 'Email changed successfully' : 'Email verified successfully'))
    },
  )

  return app
}

function said(message: string): MessageResponse {
  return { message }
}
