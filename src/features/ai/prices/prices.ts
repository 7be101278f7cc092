import { eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { TokenPrice } from '../../../core/money.ts'
import { memoize } from '../../../db/changes.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { ModelPrice, ModelPriceList, PriceRequest } from './schemas.ts'
import { type ModelPriceRow, modelPrices } from './tables.ts'

export type PriceDeps = { db: Db; clock: Clock; catalogue: Pick<Catalogue, 'list' | 'rebuild'> }
type Administrator = { id: string; address: string | null }

const MAX_MODEL_CHARACTERS = 200

/** Creates the lookup of prices that administrators set. */
export function createPriceFinder(db: Db): (model: string) => TokenPrice | null {
  const readAll = memoize(
    db,
    () =>
      new Map(
        db
          .select()
          .from(modelPrices)
          .all()
          .map((row) => [row.model, toPrice(row)]),
      ),
  )
  return (model) => readAll('').get(model) ?? null
}

/** Lists the prices that administrators set, by model, and the models on offer whose price is unknown. */
export function listPrices({ db, catalogue }: PriceDeps): ModelPriceList {
  return {
    prices: db.select().from(modelPrices).orderBy(modelPrices.model).all().map(toModelPrice),
    unpriced: catalogue
      .list()
      .filter(({ price }) => price === null)
      .map(({ id, provider }) => ({ model: id, provider: provider.id })),
  }
}

/** Sets the price of a model; it counts for calls from now on. @throws AppError `invalid` for a name that is too long. */
export async function setPrice(
  deps: PriceDeps,
  by: Administrator,
  model: string,
  request: PriceRequest,
): Promise<ModelPrice> {
  if (model.length > MAX_MODEL_CHARACTERS) throw new AppError('invalid', 'model is too long')
  const now = deps.clock.now()
  const { cachedInputUsdPerMillion = null, ...price } = request
  const row = { model, ...price, cachedInputUsdPerMillion, updatedAt: now }
  await write(deps.db, (tx) => {
    tx.insert(modelPrices).values(row).onConflictDoUpdate({ target: modelPrices.model, set: row }).run()
    const detail = { ...price, cachedInputUsdPerMillion }
    recordAudit(tx, { action: 'prices.set', target: model, detail, actor: by.id, address: by.address }, now)
  })
  deps.catalogue.rebuild()
  return toModelPrice(row)
}

/** Deletes the price of a model: the list price counts again, if there is one. @throws AppError `not_found`. */
export async function deletePrice(deps: PriceDeps, by: Administrator, model: string): Promise<void> {
  await write(deps.db, (tx) => {
    const { changes } = tx.delete(modelPrices).where(eq(modelPrices.model, model)).run()
    if (changes === 0) throw new AppError('not_found', `No price is set for model ${model}`)
    recordAudit(tx, { action: 'prices.deleted', target: model, actor: by.id, address: by.address }, deps.clock.now())
  })
  deps.catalogue.rebuild()
}

function toPrice({ inputUsdPerMillion, outputUsdPerMillion, cachedInputUsdPerMillion }: ModelPriceRow): TokenPrice {
  const cached = cachedInputUsdPerMillion === null ? {} : { cachedInputUsdPerMillion }
  return { inputUsdPerMillion, outputUsdPerMillion, ...cached }
}

function toModelPrice({ updatedAt, ...row }: ModelPriceRow): ModelPrice {
  return { ...row, updatedAt: updatedAt.toISOString() }
}
