import { z } from 'zod'
import { CostQuery } from '../../src/features/ai/usage/schemas.ts'

const Id = z.coerce.string().min(1).max(255).optional().catch(undefined)

export const CostSearch = z.object({
  period: CostQuery.shape.period.unwrap().catch('7d').default('7d'),
  agent: Id,
  model: Id,
  key: Id,
})
