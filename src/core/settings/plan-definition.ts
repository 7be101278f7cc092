import { z } from 'zod'

/** Reserved plan names: the built-in plans, `free` for none, and tiers of older clients. */
const RESERVED_PLAN_NAMES: readonly string[] = [
  ...['free', 'solo', 'collective', 'label', 'network'],
  ...['underground', 'starter', 'pro', 'scale', 'enterprise', 'white_glove'],
]

const PlanName = z
  .string('name must be text')
  .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'name must be 1 to 40 lower-case letters, digits and dashes')
  .refine((name) => !RESERVED_PLAN_NAMES.includes(name), 'name is reserved: choose another one')

const count = (field: string, maximum: number) => {
  const message = `${field} must be a whole number from 0 to ${maximum}, or null for no limit`
  return z.int(message).min(0, message).max(maximum, message).nullable().default(null)
}
const usd = 'usdPerMonth must be a number from 0 to 1000000, or null for no limit'
const models = 'models must be a list of 1 to 1000 model ids, or null for every model'
const storage = 'storageGb must be more than 0 and at most 100000'

/** Limits of an operator's plan; a missing limit does not apply. */
export const PlanLimits = z.object({
  models: z
    .array(z.string(models).trim().min(1, models).max(200, models), models)
    .min(1, models)
    .max(1000, models)
    .nullable()
    .default(null),
  agents: count('agents', 100_000),
  skills: count('skills', 100_000),
  messagesPerDay: count('messagesPerDay', 100_000_000),
  tokensPerMonth: count('tokensPerMonth', 1_000_000_000_000),
  usdPerMonth: z.number(usd).min(0, usd).max(1_000_000, usd).nullable().default(null),
  storageGb: z.number(storage).positive(storage).max(100_000, storage).default(100),
})
export type PlanLimits = z.infer<typeof PlanLimits>

/** One entry of `PLANS_FILE`. */
export const PlanDefinition = z.object({ name: PlanName, ...PlanLimits.shape })
export type PlanDefinition = z.infer<typeof PlanDefinition>
