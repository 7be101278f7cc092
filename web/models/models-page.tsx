import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import type { AiModel } from '../../src/features/ai/gateway/schemas.ts'
import { Page } from '../shell/page.tsx'
import { Button } from '../ui/button.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { LoadingShapes, Notice, Skeleton } from '../ui/notice.tsx'
import { chooseModels } from './choose-models.ts'
import { ModelFilters } from './model-filters.tsx'
import { ModelRow } from './model-row.tsx'
import { catalogueQuery, providerHealthQuery } from './models-api.ts'
import type { ModelsSearch } from './models-search.ts'
import { ProviderChoice } from './provider-choice.tsx'

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
