import { Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { Done, endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { changeKey, createKey, deleteKey, getKey, listKeys, type RotateDeps, rotateKey } from './keys.ts'
import { scopesOf, toBudgetIncrease, toLimits } from './limits.ts'
import {
  ChangeKeyRequest,
  CreatedKey,
  CreateKeyRequest,
  Key,
  KeyList,
  RotatedKey,
  RotateKeyRequest,
  ValidateKeyRequest,
  ValidKeyDetail,
} from './schemas.ts'
import type { ApiKeyRow } from './tables.ts'
import { FEATURES, type VerifyKey } from './verify.ts'

/** API key routes of the web API: session cookie, own keys only. */
export function keysWeb(
  deps: RotateDeps & {
    guards: Guards
    verifyKey: VerifyKey
    plannedEndpoints: boolean
    requestsPerMinute: { login: number }
  },
) {
  const app = new Hono<WebEnv>()
  const { withSession } = deps.guards

  app.get(
    '/api/keys',
    endpoint({ summary: 'Lists your keys', tag: 'Keys', responses: { 200: KeyList } }),
    withSession,
    (c) => c.json({ keys: listKeys(deps.db, c.var.user.id).map(toKey) }),
  )

  app.post(
    '/api/keys',
    endpoint({
      summary: 'Creates a key and returns it once',
      tag: 'Keys',
      responses: { 201: CreatedKey },
      errors: ['limited'],
    }),
    withSession,
    validate('json', CreateKeyRequest),
    async (c) => {
      const { row, key } = await createKey(deps, c.var.user.id, c.req.valid('json'))
      return c.json(toCreatedKey(row, key), 201)
    },
  )

  app.get(
    '/api/keys/:id',
    endpoint({
      summary: 'Returns a key without its secret',
      tag: 'Keys',
      responses: { 200: Key },
      errors: ['not_found'],
    }),
    withSession,
    (c) => c.json(toKey(getKey(deps.db, c.var.user.id, c.req.param('id')))),
  )

  app.patch(
    '/api/keys/:id',
    endpoint({
      summary: 'Changes the name, limits or logging of a key',
      tag: 'Keys',
      responses: { 200: Key },
      errors: ['not_found'],
      worksOnFullDisk: true,
    }),
    withSession,
    validate('json', ChangeKeyRequest),
    async (c) => c.json(toKey(await changeKey(deps, c.var.user.id, c.req.param('id'), c.req.valid('json')))),
  )

  app.post(
    '/api/keys/:id/rotate',
    endpoint({
      summary: 'Rotates a key',
      tag: 'Keys',
      responses: { 201: RotatedKey },
      errors: ['not_found', 'conflict', 'limited'],
      worksOnFullDisk: true,
    }),
    withSession,
    validate('json', RotateKeyRequest),
    async (c) => {
      const id = c.req.param('id')
      const { row, key, replacedUntil } = await rotateKey(deps, c.var.user.id, id, c.req.valid('json').overlapHours)
      const rotated: RotatedKey = {
        ...toCreatedKey(row, key),
        expiresAt: row.expiresAt?.toISOString() ?? null,
        scopes: [...scopesOf(row)],
        replaces: { id, expiresAt: replacedUntil?.toISOString() ?? null },
      }
      return c.json(rotated, 201)
    },
  )

  app.delete(
    '/api/keys/:id',
    endpoint({ summary: 'Deletes a key', tag: 'Keys', responses: { 200: Done }, errors: ['not_found'] }),
    withSession,
    async (c) => {
      await deleteKey(deps.db, c.var.user.id, c.req.param('id'))
      return c.json({ success: true })
    },
  )

  if (deps.plannedEndpoints) {
    app.post(
      '/api/keys/validate',
      endpoint({
        summary: 'Returns the owner of a key',
        tag: 'Keys',
        responses: { 200: ValidKeyDetail },
        errors: ['unauthenticated', 'forbidden'],
        worksOnFullDisk: true,
      }),
      limitRate(() => deps.requestsPerMinute.login, 'Too many requests'),
      validate('json', ValidateKeyRequest),
      (c) => {
        const { apiKey } = c.req.valid('json')
        const user = apiKey.startsWith('sk_') ? deps.verifyKey(apiKey, c.env) : null
        if (!user) throw new AppError('unauthenticated', 'Invalid API key', { valid: false })
        const { id, email, plan, subscriptionStatus } = user
        return c.json({ valid: true, userId: id, email, plan, subscriptionStatus, features: FEATURES })
      },
    )
  }

  return app
}

function toCreatedKey(row: ApiKeyRow, key: string): CreatedKey {
  return { id: row.id, name: row.name, key, createdAt: row.createdAt.toISOString() }
}

function toKey(row: ApiKeyRow): Key {
  return {
    id: row.id,
    name: row.name,
    keyPreview: `${row.prefix}...`,
    createdAt: row.createdAt.toISOString(),
    lastUsed: row.lastUsedAt?.toISOString() ?? null,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    scopes: [...scopesOf(row)],
    disabled: row.disabledAt !== null,
    logBodies: row.logBodies,
    limits: toLimits(row),
    allowedCidrs: row.allowedCidrs,
    budgetIncrease: toBudgetIncrease(row),
    guardrails: row.guardrails,
    cacheSeconds: row.cacheSeconds,
  }
}
