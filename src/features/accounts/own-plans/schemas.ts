import { z } from 'zod'
import { PlanDefinition, PlanLimits } from '../../../core/settings/plan-definition.ts'

export { PlanDefinition, PlanLimits }

/** `POST /api/admin/plans`. */
export const CreatePlanRequest = PlanDefinition.meta({
  examples: [{ name: 'family', models: ['openai/gpt-4o-mini'], agents: 2, tokensPerMonth: 1_000_000, usdPerMonth: 5 }],
})

/** `PUT /api/admin/plans/:name`: all limits; a missing limit does not apply. */
export const ChangePlanRequest = PlanLimits.meta({ examples: [{ agents: 2, usdPerMonth: 10, storageGb: 5 }] })

/**
 * A plan as administrators see it; a limit of null does not apply. `source` is `interface` for the four built-in plans,
 * `file` for an unchanged plan of `PLANS_FILE`.
 */
export const AdminPlan = z.object({
  name: z.string(),
  source: z.enum(['interface', 'file', 'dashboard']),
  models: z.array(z.string()).nullable(),
  agents: z.number().nullable(),
  skills: z.number().nullable(),
  messagesPerDay: z.number().nullable(),
  tokensPerMonth: z.number().nullable(),
  usdPerMonth: z.number().nullable(),
  storageGb: z.number(),
  accounts: z.number(),
})
export type AdminPlan = z.infer<typeof AdminPlan>

/** `GET /api/admin/plans`: `defaultPlan` is null when new accounts get no plan. */
export const AdminPlanList = z.object({ plans: z.array(AdminPlan), defaultPlan: z.string().nullable() })
export type AdminPlanList = z.infer<typeof AdminPlanList>

export const OnePlan = z.object({ plan: AdminPlan })
