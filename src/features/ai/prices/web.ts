import { type Context, Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { deletePrice, listPrices, type PriceDeps, setPrice } from './prices.ts'
import { DeletedPrice, ModelPrice, ModelPriceList, PriceRequest } from './schemas.ts'

/** Prices of models, set by administrators. The slashes of a model id come as they are or encoded. */
export function pricesWeb(deps: PriceDeps & { guards: Guards }) {
  const app = new Hono<WebEnv>()
  const { admin } = deps.guards
  const by = (c: Context<WebEnv>) => ({ id: c.var.user.id, address: c.env.address })

  app.get(
    '/api/admin/prices',
    endpoint({
      summary: 'Lists the prices that administrators set',
      tag: 'Services',
      responses: { 200: ModelPriceList },
    }),
    admin,
    (c) => c.json(listPrices(deps)),
  )

  app.put(
    '/api/admin/prices/:model{.+}',
    endpoint({ summary: 'Sets the price of a model', tag: 'Services', responses: { 200: ModelPrice } }),
    admin,
    validate('json', PriceRequest),
    async (c) => c.json(await setPrice(deps, by(c), c.req.param('model'), c.req.valid('json'))),
  )

  app.delete(
    '/api/admin/prices/:model{.+}',
    endpoint({
      summary: 'Deletes the price of a model',
      tag: 'Services',
      responses: { 200: DeletedPrice },
      errors: ['not_found'],
    }),
    admin,
    async (c) => {
      const model = c.req.param('model')
      await deletePrice(deps, by(c), model)
      return c.json({ model, deleted: true } as const)
    },
  )

  return app
}
