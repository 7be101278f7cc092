import { Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { receiveText } from '../../../http/bodies/body.ts'
import { endpoint, Received } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Base } from '../../base.ts'
import type { VerifySecurityEvent } from './receive.ts'
import { receiveSecurityEvent } from './receive.ts'
import { SecurityEventReceiver, SUPPORTED_EVENTS } from './schemas.ts'

/**
 * Receives security events of the identity provider. The body is the token itself, whatever its content type. Without a
 * configured audience every token is rejected.
 */
export function securityEventsWeb(deps: Base & { verifySecurityEvent: VerifySecurityEvent }) {
  const app = new Hono<WebEnv>()

  app.post(
    '/api/security/risc',
    endpoint({
      summary: 'Receives a security event of the provider',
      tag: 'Identity',
      responses: { 202: null },
      errors: ['invalid', 'too_large', 'internal'],
      bodyType: 'application/secevent+jwt',
      worksOnFullDisk: true,
    }),
    async (c) => {
      const token = (await receiveText(c)).trim()
      if (!token) throw new AppError('invalid', 'Empty body', { err: 'invalid_request' })
      await receiveSecurityEvent(deps, token, 'current')
      return c.body(null, 202)
    },
  )

  app.get(
    '/api/security/risc',
    endpoint({
      summary: 'Lists supported security events',
      tag: 'Identity',
      responses: { 200: SecurityEventReceiver },
    }),
    (c) =>
      c.json({
        status: 'ok',
        endpoint: '/api/security/risc',
        description: 'Receives security events of the identity provider as signed tokens (RFC 8417).',
        events_supported: SUPPORTED_EVENTS,
      }),
  )

  app.post(
    '/api/auth/idp-b/risc',
    endpoint({
      summary: 'Receives a security event of the second provider',
      tag: 'Identity',
      responses: { 200: Received },
      errors: ['invalid', 'internal'],
      bodyType: 'application/secevent+jwt',
      worksOnFullDisk: true,
    }),
    async (c) => {
      const token = (await receiveText(c)).trim()
      if (token.split('.').length !== 3) throw new AppError('invalid', 'Invalid token', { err: 'invalid_request' })
      await receiveSecurityEvent(deps, token, 'legacy')
      return c.json({ received: true })
    },
  )

  return app
}
