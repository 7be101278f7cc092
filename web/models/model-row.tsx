import type { AiModel } from '../../src/features/ai/gateway/schemas.ts'
import { isOfflineModel, offlineModelWarning } from '../agents/model-name.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { hasAbility } from './choose-models.ts'
import { formatContext, formatPrice } from './model-words.ts'

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
