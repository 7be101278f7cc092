import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { errorMessage, StartupError } from '../errors.ts'

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

const PlanList = z
  .array(PlanDefinition.strict(), 'must be a JSON list of plans')
  .max(100, 'must have at most 100 plans')

/**
 * Reads the operator's plans from a JSON file.
 * @throws StartupError that names the first invalid field, such as `PLANS_FILE: plans.json: [0].agents must be …`.
 */
export function readPlansFile(file: string): PlanDefinition[] {
  const parsed = PlanList.safeParse(readJson(file))
  if (!parsed.success) throw new StartupError(`PLANS_FILE: ${file}: ${describeIssue(parsed.error.issues[0])}`)
  const names = parsed.data.map(({ name }) => name)
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) throw new StartupError(`PLANS_FILE: ${file}: the plan "${repeated}" is defined twice`)
  return parsed.data
}

function readJson(file: string): unknown {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new StartupError(`PLANS_FILE: cannot be read (${errorMessage(error)})`)
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new StartupError(`PLANS_FILE: ${file} is not valid JSON (${errorMessage(error)})`)
  }
}

/** Puts the index of the plan before the field's message. */
function describeIssue(issue: z.core.$ZodIssue | undefined): string {
  const [index] = issue?.path ?? []
  const message =
    issue?.code === 'unrecognized_keys' ? `${issue.keys.join(', ')} is not a field of a plan` : issue?.message
  return index === undefined ? (message ?? 'is not valid') : `[${String(index)}].${message}`
}
