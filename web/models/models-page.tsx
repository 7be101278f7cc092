import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import type { z } from 'zod'
import type { AiHealth, AiModel } from '../../src/features/ai/gateway/schemas.ts'
import { isOfflineModel, offlineModelWarning } from '../agents/model-field.tsx'
import { messageFor } from '../api/request.ts'
import { MODEL_ABILITIES, type ModelsSearch } from '../routes/searches.ts'
import { Page } from '../shell/page.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Choice, SearchField, SortChoice } from '../ui/filters.tsx'
import { Loaded, LoadingShapes, Notice, Skeleton } from '../ui/notice.tsx'
import { chooseModels, countProviders, hasAbility, usualOrder } from './choose-models.ts'
import { ModelHealthPanel } from './model-health.tsx'
import { catalogueQuery, formatContext, formatPrice, providerHealthQuery } from './models-api.ts'

const route = getRouteApi('/signed-in/models')
/** Aggregators have hundreds of models. */
const STEP = 40

const loadingTry = () => import('./try-dialog.tsx').then(({ TryDialog }) => ({ default: TryDialog }))
const TryDialog = lazy(loadingTry)

/** Page `/models`. */
export function ModelsPage() {
  const search = route.useSearch()
  const navigate = useNavigate()
  const models = useQuery(catalogueQuery)
  const health = useQuery(providerHealthQuery)
  const change = (part: Partial<ModelsSearch>) =>
    void navigate({ to: '/models', search: { ...search, ...part }, replace: true, resetScroll: false })
  return (
    <Page title="Models" lead="Models available to your agents and keys. Prices in US dollars per million tokens.">
      <Loaded query={models} what="models" placeholder={<Loading />}>
        {(all) => (
          <>
            {all.length === 0 && <NoModels />}
            {all.length > 0 && (
              <div className="grid grid-cols-1 gap-3">
                <ModelFilters search={search} onChange={change} />
                <ProviderChoice models={all} health={health} chosen={search.provider} onChange={change} />
              </div>
            )}
            {all.length > 0 && (
              <ModelList
                key={JSON.stringify({ ...search, try: undefined, against: undefined })}
                models={chooseModels(all, search)}
                down={Object.entries(health.data?.providers ?? {}).flatMap(([id, isUp]) => (isUp ? [] : [id]))}
                onTry={(id) => change({ try: id })}
                onClear={() => void navigate({ to: '/models', replace: true })}
              />
            )}
            {health.data && <ModelHealthPanel health={health.data} />}
            {search.try && (
              <Suspense fallback={<p aria-busy="true" />}>
                <TryDialog
                  models={all}
                  chosen={search.try}
                  against={search.against}
                  onChange={change}
                  onClose={() => change({ try: undefined, against: undefined })}
                />
              </Suspense>
            )}
          </>
        )}
      </Loaded>
    </Page>
  )
}

type ModelListProps = {
  models: readonly AiModel[]
  down: readonly string[]
  onTry: (id: string) => void
  onClear: () => void
}

function ModelList({ models, down, onTry, onClear }: ModelListProps) {
  const [shown, setShown] = useState(STEP)
  if (models.length === 0) {
    return (
      <div className="grid justify-items-center gap-3 rounded-xl border border-dashed border-edge px-6 py-12 text-center">
        <p className="text-muted">No models match your filters.</p>
        <Button onClick={onClear}>Clear filters</Button>
      </div>
    )
  }
  const rest = models.length - shown
  return (
    <div className="grid grid-cols-1 gap-3">
      <p role="status" className="text-sm font-normal text-muted tabular-nums">
        {models.length === 1 ? '1 model' : `${models.length.toLocaleString('en')} models`}
      </p>
      <ul className="grid grid-cols-1 divide-y divide-line overflow-hidden rounded-xl border border-line bg-surface">
        {models.slice(0, shown).map((model) => (
          <ModelRow key={model.id} model={model} isDown={down.includes(model.provider)} onTry={() => onTry(model.id)} />
        ))}
      </ul>
      {rest > 0 && (
        <Button className="justify-self-center" onClick={() => setShown(shown + STEP * 3)}>
          Show {Math.min(rest, STEP * 3)} more of {rest}
        </Button>
      )}
    </div>
  )
}

function NoModels() {
  return (
    <Notice tone="warning" title="No model is available">
      <p>
        The administrator has not configured a model provider yet. You can add your own provider key in Settings →
        Account.
      </p>
    </Notice>
  )
}

function Loading() {
  return (
    <LoadingShapes what="models" className="grid gap-3">
      <Skeleton className="h-10" />
      <Skeleton className="h-8 w-64" />
      <Skeleton className="mt-8 h-96 rounded-xl" />
    </LoadingShapes>
  )
}

const sortWords = { name: 'Name', input: 'Input price', output: 'Output price', context: 'Context' } as const
const abilityWords = { tools: 'Tool use', vision: 'Vision', free: 'Free' } as const

type ModelFiltersProps = { search: ModelsSearch; onChange: (part: Partial<ModelsSearch>) => void }

export function ModelFilters({ search, onChange }: ModelFiltersProps) {
  const sort = search.sort ?? 'name'
  const order = search.order ?? usualOrder(sort)
  return (
    <div className="flex flex-wrap items-center gap-2">
      <SearchField
        label="Search models"
        placeholder="Name, ID or strength"
        value={search.search ?? ''}
        maxLength={100}
        shortcut="/"
        onSearch={(words) => onChange({ search: words || undefined })}
        className="min-w-48 flex-1 max-sm:basis-full"
      />
      <Choice
        label="Capabilities"
        value={search.can ?? ''}
        onChoose={(value) => onChange({ can: MODEL_ABILITIES.find((each) => each === value) })}
      >
        <option value="">All capabilities</option>
        {MODEL_ABILITIES.map((each) => (
          <option key={each} value={each}>
            {abilityWords[each]}
          </option>
        ))}
      </Choice>
      <SortChoice words={sortWords} sort={sort} order={order} onChoose={onChange} />
    </div>
  )
}

export function ModelRow({ model, isDown, onTry }: { model: AiModel; isDown: boolean; onTry: () => void }) {
  const { id, name, provider } = model
  const description = describeModel(model)
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-2 px-4 py-3 lg:grid-cols-[minmax(0,1fr)_19rem_auto]">
      <div className="grid min-w-0 grid-cols-1 gap-0.5">
        <h2 className="flex flex-wrap items-center gap-x-2 gap-y-1 font-medium">
          <span className="min-w-0 wrap-anywhere">{name}</span>
          {hasAbility(model, 'tools') && <Badge>Tools</Badge>}
          {hasAbility(model, 'vision') && <Badge>Vision</Badge>}
          <ModelState model={model} isDown={isDown} />
        </h2>
        <p className="text-sm text-muted">
          {name !== id && <code className="font-mono text-[0.8125rem] wrap-anywhere">{id} </code>}
          via {provider}
        </p>
        {isOfflineModel(id) ? (
          <p className="text-sm text-warn">{offlineModelWarning}</p>
        ) : (
          description && (
            <p className="line-clamp-2 text-sm text-muted" title={description}>
              {description}
            </p>
          )
        )}
      </div>
      <dl className="grid grid-cols-3 gap-3 text-sm tabular-nums max-lg:order-last max-lg:col-span-2">
        <Figure label="Input" value={formatPrice(model.inputCost)} />
        <Figure label="Output" value={formatPrice(model.outputCost)} />
        <Figure label="Context" value={formatContext(model)} />
      </dl>
      <Button aria-label={`Try ${name}`} onClick={onTry}>
        Try
      </Button>
    </li>
  )
}

/** Returns null when the description only repeats name and provider. */
function describeModel({ name, provider, description }: AiModel): string | null {
  return description === `${name} through ${provider}` ? null : description
}

function ModelState({ model, isDown }: { model: AiModel; isDown: boolean }) {
  if (isDown) return <Badge tone="problem">Provider not responding</Badge>
  return model.available ? null : <Badge tone="warning">Failed recently</Badge>
}

function Figure({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <dt className="text-xs text-muted">{label}</dt>
      <dd>{value}</dd>
    </div>
  )
}

type ProviderChoiceProps = {
  models: readonly AiModel[]
  health: Pick<UseQueryResult<z.infer<typeof AiHealth>>, 'data' | 'error' | 'refetch'>
  chosen: string | undefined
  onChange: (part: Partial<ModelsSearch>) => void
}

export function ProviderChoice({ models, health, chosen, onChange }: ProviderChoiceProps) {
  return (
    <div className="flex flex-wrap items-center gap-1.5">
      {/* biome-ignore lint/a11y/useSemanticElements: buttons are no fields, and a fieldset is for those */}
      <div role="group" aria-label="Provider" className="flex flex-wrap gap-1.5">
        {countProviders(models).map(({ provider, count }) => (
          <button
            key={provider}
            type="button"
            aria-pressed={chosen === provider}
            onClick={() => onChange({ provider: chosen === provider ? undefined : provider })}
            className="inline-flex min-h-8 items-center gap-1.5 rounded-full border border-line bg-surface px-3 text-sm text-muted transition-colors hover:border-edge hover:text-ink aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-ink"
          >
            {provider} <span className="tabular-nums">{count}</span>
            <ProviderState isUp={health.data?.providers[provider]} />
          </button>
        ))}
      </div>
      {health.error && !health.data && (
        <p role="alert" className="flex flex-wrap items-center gap-2 text-sm text-muted">
          Could not check the providers: {messageFor(health.error)}
          <Button onClick={() => void health.refetch()}>Retry</Button>
        </p>
      )}
    </div>
  )
}

function ProviderState({ isUp }: { isUp: boolean | undefined }) {
  if (isUp === undefined) return null
  return (
    <span className="inline-flex items-center gap-1.5">
      <span aria-hidden className={`size-2 rounded-full ${isUp ? 'bg-accent' : 'bg-bad'}`} />
      {isUp ? 'responding' : 'not responding'}
    </span>
  )
}
