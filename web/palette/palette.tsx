import { useQueries } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Command } from 'cmdk'
import { Search } from 'lucide-react'
import { useState } from 'react'
import type { FleetAgent } from '../../src/features/monitoring/fleet/schemas.ts'
import { type AgentVerb, agentsQuery, canChange, changeAgent, isOnOwnMachine } from '../agents/agents-api.ts'
import { FieldMark } from '../agents/field-mark.tsx'
import { StatusBadge } from '../agents/status-badge.tsx'
import { refresh } from '../api/query-client.ts'
import { fleetQuery } from '../fleet/fleet-api.ts'
import { Modal } from '../ui/modal.tsx'
import { Entries, KeyCaps, type PaletteEntry, usePageEntries } from './entries.tsx'
import { rateEntry } from './rate-entry.ts'

type PaletteProps = { isAdmin: boolean; onClose: () => void; onShortcuts: () => void }

export function Palette({ isAdmin, onClose, onShortcuts }: PaletteProps) {
  const [words, setWords] = useState('')
  const { pages, actions } = usePageEntries(isAdmin, onShortcuts)
  const choose = ({ run }: PaletteEntry) => {
    // Closes first, because the entry may open a dialog of its own.
    onClose()
    run()
  }
  return (
    <Modal label="Go to" isLight onClose={onClose} className="mt-[12dvh] max-w-xl overflow-hidden">
      <Command label="Go to" loop filter={rateEntry} className="grid">
        <div className="flex items-center gap-3 border-b border-line px-4">
          <Search aria-hidden className="size-4 shrink-0 text-muted" />
          <Command.Input
            data-autofocus
            value={words}
            onValueChange={setWords}
            maxLength={200}
            placeholder="Page, agent or action"
            className="min-h-12 min-w-0 flex-1 bg-transparent text-base outline-none placeholder:text-muted"
          />
          <KeyCaps keys={['Esc']} />
        </div>
        <Command.List className="max-h-[min(24rem,60dvh)] overflow-y-auto overscroll-contain p-2">
          <Command.Empty className="px-2.5 py-8 text-center text-sm text-muted">
            No results. Search for agents by name and pages by title.
          </Command.Empty>
          <AgentEntries words={words} onChoose={choose} />
          <Entries heading="Pages" entries={pages} onChoose={choose} />
          <Entries heading="Actions" entries={actions} onChoose={choose} />
        </Command.List>
      </Command>
    </Modal>
  )
}

/** Typing more is quicker than scanning a longer list. */
const SHOWN = 6
const verbs = { start: 'Start', stop: 'Stop', restart: 'Restart' } as const satisfies Record<AgentVerb, string>
const pages = [
  { to: '/agents/$agentId/overview', label: 'overview' },
  { to: '/agents/$agentId/logs', label: 'logs' },
  { to: '/agents/$agentId/settings', label: 'settings' },
] as const

/** A name alone opens the chat; a verb beside it starts, stops or restarts. */
export function AgentEntries({ words, onChoose }: { words: string; onChoose: (entry: PaletteEntry) => void }) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean)
  // One query per word, because a verb next to a name matches nothing.
  const read = useQueries({
    queries: (wanted.length > 0 ? wanted : [undefined]).slice(0, 3).map((search) => fleetQuery({ search }, 0)),
  })
  const navigate = useNavigate()
  const change = (agent: FleetAgent, verb: AgentVerb) => {
    const known = () => refresh(agentsQuery)
    // The list of agents shows the outcome.
    void changeAgent(agent.id, verb).then(known, known)
    void navigate({ to: '/agents' })
  }
  const toEntries = (agent: FleetAgent): PaletteEntry[] => {
    const params = { agentId: agent.id }
    const mark = <FieldMark seed={agent.id} className="size-5" />
    const more = [
      ...pages.map(({ to, label }) => ({ label: `${agent.name}: ${label}`, run: () => void navigate({ to, params }) })),
      ...toVerbs(agent).map((verb) => ({ label: `${verbs[verb]} ${agent.name}`, run: () => change(agent, verb) })),
    ]
    return [
      {
        id: `agent ${agent.id}`,
        label: agent.name,
        mark,
        detail: <StatusBadge status={agent.status} />,
        run: () => void navigate({ to: '/agents/$agentId', params }),
      },
      ...(words.trim() === ''
        ? []
        : more.map(({ label, run }) => ({ id: `agent ${agent.id} ${label}`, label, mark, run }))),
    ]
  }
  const found = read.flatMap(({ data }) => data?.agents.slice(0, SHOWN) ?? [])
  const fitting = [...new Map(found.map((agent) => [agent.id, agent])).values()].slice(0, SHOWN)
  if (fitting.length === 0) return null
  return <Entries heading="Agents" entries={fitting.flatMap(toEntries)} onChoose={onChoose} />
}

function toVerbs(agent: FleetAgent): AgentVerb[] {
  if (isOnOwnMachine(agent)) return []
  return (['start', 'stop', 'restart'] as const).filter((verb) => canChange(agent.status, verb))
}
