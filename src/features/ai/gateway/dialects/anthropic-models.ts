import type { Context } from 'hono'
import { z } from 'zod'
import { AppError } from '../../../../core/errors.ts'
import type { CatalogueModel } from '../../catalogue/catalogue.ts'

/** `GET /v1/models/{id}` in Anthropic's form. `created_at` is the epoch, as Anthropic has it for unknown dates. */
export const AnthropicModel = z.object({
  type: z.literal('model'),
  id: z.string(),
  display_name: z.string(),
  created_at: z.string(),
})
type AnthropicModel = z.infer<typeof AnthropicModel>

/** `GET /v1/models` in Anthropic's form. */
export const AnthropicModelList = z.object({
  data: z.array(AnthropicModel),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
})

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 1000

/** Returns whether the caller uses Anthropic's API, whose clients always send this header. */
export function isAnthropicClient(c: Context): boolean {
  return c.req.header('anthropic-version') !== undefined
}

export function toAnthropicModel({ id, name }: CatalogueModel): AnthropicModel {
  return { type: 'model', id, display_name: name, created_at: '1970-01-01T00:00:00Z' }
}

/** Returns the page of models that `limit`, `after_id` and `before_id` ask for. @throws AppError `invalid` */
export function toAnthropicPage(models: readonly CatalogueModel[], query: (name: string) => string | undefined) {
  const limit = Number(query('limit') ?? DEFAULT_LIMIT)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw new AppError('invalid', `limit: Input should be between 1 and ${MAX_LIMIT}`)
  }
  const indexOf = (name: string) => {
    const id = query(name)
    const index = id === undefined ? -1 : models.findIndex((model) => model.id === id)
    if (id !== undefined && index === -1) throw new AppError('invalid', `${name}: There is no such model`)
    return index
  }
  const [after, before] = [indexOf('after_id'), indexOf('before_id')]
  const end = before === -1 ? after + 1 + limit : before
  const start = before === -1 ? after + 1 : Math.max(0, before - limit)
  const data = models.slice(start, end).map(toAnthropicModel)
  const hasMore = before === -1 ? end < models.length : start > 0
  return { data, has_more: hasMore, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }
}
