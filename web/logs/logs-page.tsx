import { getRouteApi } from '@tanstack/react-router'
import { Pause, Play, Search } from 'lucide-react'
import { useDeferredValue, useState } from 'react'
import { AgentFrame } from '../agent/agent-frame.tsx'
import { Button } from '../ui/button.tsx'
import { LiveLog } from './live-log-view.tsx'
import { StoredLog } from './stored-log.tsx'

const route = getRouteApi('/signed-in/agents/$agentId/logs')

/** `/agents/$agentId/logs`: what one agent writes, live or as it is stored. */
export function LogsPage() {
  const { agentId } = route.useParams()
  return (
    <AgentFrame agentId={agentId} title="Logs" isFilling>
      {({ agent }) => <Logs agentId={agent.id} />}
    </AgentFrame>
  )
}

function Logs({ agentId }: { agentId: string }) {
  const [view, setView] = useState<'live' | 'stored'>('live')
  const [isPaused, setPaused] = useState(false)
  const [text, setText] = useState('')
  const filter = useDeferredValue(text.trim().slice(0, MAX_FILTER))
  return (
    <>
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2.5 sm:px-6">
        <fieldset className="flex gap-0.5 rounded-lg bg-sunken p-0.5">
          <legend className="sr-only">Which lines</legend>
          <ViewButton isChosen={view === 'live'} onChoose={() => setView('live')}>
            Live
          </ViewButton>
          <ViewButton isChosen={view === 'stored'} onChoose={() => setView('stored')}>
            History
          </ViewButton>
        </fieldset>
        <div className="relative flex-1 max-sm:order-last max-sm:basis-full">
          <Search
            aria-hidden
            className="pointer-events-none absolute top-1/2 left-3 size-4 -translate-y-1/2 text-muted"
          />
          <input
            type="search"
            aria-label={view === 'live' ? 'Filter lines' : 'Search stored lines'}
            placeholder={view === 'live' ? 'Filter' : 'Search'}
            value={text}
            maxLength={MAX_FILTER}
            autoCapitalize="none"
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => setText(event.target.value)}
            className="min-h-9 w-full rounded-md border border-edge bg-surface pr-3 pl-9 text-base text-ink placeholder:text-muted sm:text-sm"
          />
        </div>
        <Button
          aria-pressed={isPaused}
          className={`min-w-24 max-sm:ml-auto ${view === 'live' ? '' : 'invisible'}`}
          onClick={() => setPaused(!isPaused)}
        >
          {isPaused ? <Play aria-hidden className="size-3.5" /> : <Pause aria-hidden className="size-3.5" />}
          {isPaused ? 'Follow' : 'Pause'}
        </Button>
      </div>
      {view === 'live' ? (
        <LiveLog agentId={agentId} filter={filter} isPaused={isPaused} onFollow={() => setPaused(false)} />
      ) : (
        <StoredLog agentId={agentId} text={filter} />
      )}
    </>
  )
}

/** The server takes no longer query. */
const MAX_FILTER = 200

function ViewButton({ isChosen, onChoose, children }: { isChosen: boolean; onChoose: () => void; children: string }) {
  return (
    <button
      type="button"
      aria-pressed={isChosen}
      onClick={onChoose}
      className="inline-flex min-h-8 items-center rounded-md border border-transparent px-2.5 text-sm font-medium text-muted hover:text-ink aria-pressed:border-line aria-pressed:bg-surface aria-pressed:text-ink aria-pressed:shadow-xs"
    >
      {children}
    </button>
  )
}
