import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ListedModel, ModelList } from '../../src/features/ai/gateway/schemas.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { modelsQuery } from './agents-api.ts'

/** Renders nothing when no model is available. */
export function ModelField({ current }: { current?: string }) {
  const models = useQuery(modelsQuery)
  if (models.data) return <LoadedModelField list={models.data} current={current} />
  if (models.error) return <LoadProblem what="models" error={models.error} onRetry={models.refetch} />
  return (
    <div aria-busy="true" className="grid gap-1.5">
      <p className="text-sm font-medium">Model</p>
      <Skeleton className="h-10" />
    </div>
  )
}

function LoadedModelField({ list, current }: { list: ModelList; current: string | undefined }) {
  const [chosenId, setChosenId] = useState(current || (list.defaultModel ?? list.models[0]?.id ?? ''))
  const isCurrentOffered = !current || list.models.some(({ id }) => id === current)
  const chosen = list.models.find(({ id }) => id === chosenId)
  if (list.models.length === 0) {
    return (
      <div className="grid grid-cols-1 gap-3">
        <Notice tone="warning" title="No model is available">
          No model provider is configured. You can create the agent now; it answers once the administrator adds a
          provider, or you add your own key in Settings → Account.
        </Notice>
        {current !== undefined && <TextField label="Model" name="model" defaultValue={current} />}
      </div>
    )
  }
  return (
    <div className="grid grid-cols-1 gap-3">
      <SelectField
        label="Model"
        name="model"
        value={chosenId}
        onChange={(event) => setChosenId(event.target.value)}
        hint={chosen && describeTerms(chosen)}
      >
        {!isCurrentOffered && <option value={current}>{describeUnlisted(current)}</option>}
        {Object.entries(byProvider(list.models)).map(([provider, models]) => (
          <optgroup key={provider} label={provider}>
            {models?.map((model) => (
              <option key={model.id} value={model.id}>
                {describeModel(model)}
              </option>
            ))}
          </optgroup>
        ))}
      </SelectField>
      {chosen?.provider === 'local' && isOfflineModel(chosen.id) && (
        <Notice tone="warning" title={offlineModelWarning}>
          This development model repeats your message so you can try everything without a provider. For real answers,
          add a model provider.
        </Notice>
      )}
    </div>
  )
}

/** An agent created without a model uses the server's default for each call. */
function describeUnlisted(current: string): string {
  return current === 'default' ? nameModel(current) : `${current} (unavailable)`
}

function byProvider(models: ListedModel[]): Partial<Record<string, ListedModel[]>> {
  return Object.groupBy(models, ({ provider }) => provider)
}

const perMillion = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', maximumFractionDigits: 2 })
const tokens = new Intl.NumberFormat('en', { notation: 'compact' })

export const offlineModelWarning = 'Offline development model (not a real AI)'

/** The offline model repeats its input and must not look like a real model. */
export function isOfflineModel(modelId: string): boolean {
  return modelId === 'local/echo'
}

/** An agent created without a model uses the server's default. */
export function nameModel(modelId: string): string {
  if (modelId === '') return 'No model'
  return modelId === 'default' ? 'Server default' : modelId
}

function describeModel({ id, name, provider }: ListedModel): string {
  return provider === 'local' && isOfflineModel(id) ? `${id}: offline development model (not a real AI)` : name
}

function describeTerms({ id, contextLength, pricing }: ListedModel): string {
  const context = contextLength && `${tokens.format(contextLength)} tokens of context`
  return [id, context, pricing ? describePrice(pricing) : 'price unknown'].filter(Boolean).join(' · ')
}

function describePrice({ prompt, completion }: NonNullable<ListedModel['pricing']>): string {
  if (prompt === 0 && completion === 0) return 'free'
  return `${perMillion.format(prompt * 1e6)} input, ${perMillion.format(completion * 1e6)} output per million tokens`
}
