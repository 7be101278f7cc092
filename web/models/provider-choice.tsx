import type { UseQueryResult } from '@tanstack/react-query'
import type { z } from 'zod'
import type { AiHealth, AiModel } from '../../src/features/ai/gateway/schemas.ts'
import { messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { countProviders } from './choose-models.ts'
import type { ModelsSearch } from './models-search.ts'

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
