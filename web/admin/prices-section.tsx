import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { z } from 'zod'
import { type ModelPrice, PriceRequest } from '../../src/features/ai/prices/schemas.ts'
import { formatCost } from '../cost/figures.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { ErrorNotice, Loaded, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { ForgetButton } from './paging.tsx'
import { deletePrice, pricesQuery, setPrice } from './services-api.ts'

const FREE = { inputUsdPerMillion: 0, outputUsdPerMillion: 0 }
const toNumber = (text: unknown) => (typeof text === 'string' && text.trim() !== '' ? Number(text) : undefined)
const PriceForm = z.object({
  inputUsdPerMillion: z.preprocess(toNumber, PriceRequest.shape.inputUsdPerMillion),
  outputUsdPerMillion: z.preprocess(toNumber, PriceRequest.shape.outputUsdPerMillion),
  cachedInputUsdPerMillion: z.preprocess(toNumber, PriceRequest.shape.cachedInputUsdPerMillion),
})

export function PricesSection() {
  const query = useQuery(pricesQuery)
  return (
    <Section
      title="Model prices"
      lead="US dollars per million tokens. Overrides the list price. Models without a price have unknown costs and cannot be used by agents and keys with a dollar limit."
    >
      <Loaded query={query} what="prices" placeholder={<Skeleton className="h-24" />}>
        {({ prices, unpriced }) =>
          prices.length + unpriced.length === 0 ? (
            <p className="text-sm text-muted">Every available model has a list price.</p>
          ) : (
            <ul aria-label="Model prices" className="divide-y divide-line">
              {unpriced.map(({ model }) => (
                <PriceRow key={model} model={model} price={null} />
              ))}
              {prices.map((price) => (
                <PriceRow key={price.model} model={price.model} price={price} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  )
}

function PriceRow({ model, price }: { model: string; price: ModelPrice | null }) {
  const [isEditing, setEditing] = useState(false)
  const free = useMutation({ mutationFn: () => setPrice(model, FREE) })
  return (
    <li className="grid grid-cols-1 gap-3 py-3 first:pt-0 last:pb-0">
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <div className="grid min-w-0 gap-0.5">
          <p className="font-medium wrap-anywhere">{model}</p>
          {price ? (
            <p className="text-sm text-muted">{describePrice(price)}</p>
          ) : (
            <span>
              <Badge tone="warning">Price unknown</Badge>
            </span>
          )}
        </div>
        <div className="flex flex-wrap gap-2">
          {!price && (
            <Button isPending={free.isPending} onClick={() => free.mutate()} aria-label={`Free: ${model}`}>
              Free
            </Button>
          )}
          <Button aria-expanded={isEditing} onClick={() => setEditing(!isEditing)} aria-label={`Set price of ${model}`}>
            Set price
          </Button>
          {price && (
            <ForgetButton
              title={`Delete the price of ${model}?`}
              lead="The list price applies again, if one exists."
              verb="Delete"
              forget={() => deletePrice(model)}
            />
          )}
        </div>
      </div>
      <ErrorNotice error={free.error} />
      {isEditing && <PriceFields model={model} price={price} onClose={() => setEditing(false)} />}
    </li>
  )
}

function describePrice({ inputUsdPerMillion, outputUsdPerMillion }: ModelPrice): string {
  if (inputUsdPerMillion === 0 && outputUsdPerMillion === 0) return 'Free'
  return `${formatCost(inputUsdPerMillion)} input, ${formatCost(outputUsdPerMillion)} output`
}

function PriceFields({ model, price, onClose }: { model: string; price: ModelPrice | null; onClose: () => void }) {
  const form = useForm(PriceForm, async (request) => {
    await setPrice(model, request)
    onClose()
  })
  const field = (name: keyof typeof PriceForm.shape, label: string) => (
    <TextField
      label={label}
      name={name}
      inputMode="decimal"
      defaultValue={price?.[name] ?? ''}
      error={form.problem?.fields[name]}
    />
  )
  return (
    <Form form={form} verb="Save" onCancel={onClose}>
      <div className="grid max-w-xl grid-cols-1 gap-4 sm:grid-cols-3">
        {field('inputUsdPerMillion', 'Input')}
        {field('outputUsdPerMillion', 'Output')}
        {field('cachedInputUsdPerMillion', 'Cached input (optional)')}
      </div>
    </Form>
  )
}
