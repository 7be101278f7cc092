import { z } from 'zod'
import { FORMER_MODELS, SCOPES } from '../../../core/scopes.ts'
import { Guardrails } from '../guardrails/schemas.ts'

const MAX_DAYS = 3650
const MAX_OVERLAP_HOURS = 168

const Name = z.string('Name required').trim().min(1, 'Name required').max(64, 'Name too long (max 64 chars)')
const badDays = `expiresInDays must be a whole number from 1 to ${MAX_DAYS}`
const badScopes = `scopes must be a list of ${SCOPES.join(', ')}`
const badOverlap = `overlapHours must be a number from 0 to ${MAX_OVERLAP_HOURS}`

const badBudget = 'monthlyBudgetUsd must be a number of at least 0.01'
const badEndUserBudget = 'endUserBudgetUsd must be a number of at least 0.01'
const badLogBodies = 'logBodies must be true or false'
const badTokens = 'monthlyTokens must be a whole number of at least 1'
const badModels = 'models must be a list of 1 to 100 model ids'
const badRate = 'requestsPerMinute must be a whole number of at least 1'

/** Model usage limits of a key. Months are UTC; null removes a limit. `endUserBudgetUsd` limits each end user of the key. */
export const Limits = z.object({
  monthlyBudgetUsd: z.number(badBudget).min(0.01, badBudget).max(1_000_000, badBudget).nullable(),
  monthlyTokens: z.int(badTokens).min(1, badTokens).nullable(),
  models: z
    .array(z.string(badModels).min(1, badModels).max(200, badModels), badModels)
    .min(1, badModels)
    .max(100, badModels)
    .nullable(),
  requestsPerMinute: z.int(badRate).min(1, badRate).max(1_000_000, badRate).nullable(),
  endUserBudgetUsd: z.number(badEndUserBudget).min(0.01, badEndUserBudget).max(1_000_000, badEndUserBudget).nullable(),
})
export type Limits = z.infer<typeof Limits>

const MAX_CACHE_SECONDS = 86_400
const badCache = `cacheSeconds must be a whole number from 0 to ${MAX_CACHE_SECONDS}`
const MAX_CIDRS = 100
const badCidrs = `allowedCidrs must be a list of up to ${MAX_CIDRS} addresses or ranges such as 203.0.113.0/24`
const badIncrease = 'budgetIncrease must be {usd, until}: an amount of at least 0.01 and an ISO 8601 time'

/** Addresses and ranges (IPv4 or IPv6) that may use the key. */
const AllowedCidrs = z
  .array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], badCidrs), badCidrs)
  .max(MAX_CIDRS, badCidrs)

/** US dollars by which the monthly budget is higher until a time (ISO 8601); null removes the increase. */
export const BudgetIncrease = z.object(
  {
    usd: z.number(badIncrease).min(0.01, badIncrease).max(1_000_000, badIncrease),
    until: z.iso.datetime({ offset: true, error: badIncrease }),
  },
  badIncrease,
)
export type BudgetIncrease = z.infer<typeof BudgetIncrease>

/** Settings other than limits. Null removes a setting; an empty list of IP ranges permits every address. */
const settingShape = {
  cacheSeconds: z.int(badCache).min(0, badCache).max(MAX_CACHE_SECONDS, badCache).nullish(),
  guardrails: Guardrails.nullish(),
  allowedCidrs: AllowedCidrs.nullish(),
  budgetIncrease: BudgetIncrease.nullish(),
}

/**
 * `POST /api/keys`. Without an expiry the key does not expire. Without scopes it may do what its owner may, except that
 * a key with limits on money, tokens or models is restricted to models. `ai` is a former name of `models`. With
 * `logBodies` the bodies of its requests are stored for 7 days.
 */
export const CreateKeyRequest = z
  .object({
    name: Name,
    expiresInDays: z.int(badDays).min(1, badDays).max(MAX_DAYS, badDays).optional(),
    expiresAt: z.iso.datetime({ offset: true, error: 'expiresAt must be an ISO 8601 time' }).optional(),
    scopes: z.array(z.enum([...SCOPES, FORMER_MODELS], badScopes), badScopes).optional(),
    logBodies: z.boolean(badLogBodies).optional(),
    ...Limits.partial().shape,
    ...settingShape,
  })
  .refine(({ expiresInDays, expiresAt }) => expiresInDays === undefined || expiresAt === undefined, {
    error: 'Give expiresInDays or expiresAt, not both',
  })
  .meta({
    examples: [
      { name: 'Backup script', scopes: ['read'], expiresInDays: 90 },
      { name: 'Chat', monthlyBudgetUsd: 10, requestsPerMinute: 60 },
    ],
  })
export type CreateKeyRequest = z.infer<typeof CreateKeyRequest>

/** `PATCH /api/keys/:id`. */
export const ChangeKeyRequest = z
  .object({
    name: Name.optional(),
    disabled: z.boolean('disabled must be true or false').optional(),
    logBodies: z.boolean(badLogBodies).optional(),
    ...Limits.partial().shape,
    ...settingShape,
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), { error: 'Nothing to change' })
export type ChangeKeyRequest = z.infer<typeof ChangeKeyRequest>

/** `POST /api/keys/:id/rotate`. With an overlap of 0, the default, the old key stops working at once. */
export const RotateKeyRequest = z.object({
  overlapHours: z.number(badOverlap).min(0, badOverlap).max(MAX_OVERLAP_HOURS, badOverlap).default(0),
})
export type RotateKeyRequest = z.infer<typeof RotateKeyRequest>

/** A key without its secret. Times are ISO 8601; an empty list of scopes means every scope of the owner. */
export const Key = z.object({
  id: z.string(),
  name: z.string(),
  keyPreview: z.string(),
  createdAt: z.string(),
  lastUsed: z.string().nullable(),
  expiresAt: z.string().nullable(),
  scopes: z.array(z.string()),
  disabled: z.boolean(),
  logBodies: z.boolean(),
  limits: Limits,
  allowedCidrs: z.array(z.string()),
  budgetIncrease: BudgetIncrease.nullable(),
  guardrails: Guardrails.nullable(),
  cacheSeconds: z.number().nullable(),
})
export type Key = z.infer<typeof Key>

export const KeyList = z.object({ keys: z.array(Key) })
export type KeyList = z.infer<typeof KeyList>

/** The only response that contains the raw key. */
export const CreatedKey = z.object({ id: z.string(), name: z.string(), key: z.string(), createdAt: z.string() })
export type CreatedKey = z.infer<typeof CreatedKey>

/** A new raw key; `replaces.expiresAt` is when the old key stops working, null when it already has. */
export const RotatedKey = CreatedKey.extend({
  expiresAt: z.string().nullable(),
  scopes: z.array(z.string()),
  replaces: z.object({ id: z.string(), expiresAt: z.string().nullable() }),
})
export type RotatedKey = z.infer<typeof RotatedKey>

/** `POST /api/keys/validate`. */
export const ValidateKeyRequest = z.object({
  apiKey: z.string('apiKey required').min(1, 'apiKey required').max(512, 'apiKey too long'),
})
export type ValidateKeyRequest = z.infer<typeof ValidateKeyRequest>

/** `POST /api/validate-key`: the owner of the key, their plan and its features. */
export const ValidKey = z.object({
  valid: z.literal(true),
  userId: z.string(),
  plan: z.string(),
  features: z.array(z.string()),
})

/** `POST /api/keys/validate`. */
export const ValidKeyDetail = ValidKey.extend({ email: z.string(), subscriptionStatus: z.string() })
