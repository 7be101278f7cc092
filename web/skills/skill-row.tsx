import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { z } from 'zod'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import type { Marketplace, MarketplaceSkill } from '../../src/features/payments/skills/schemas.ts'
import { queryClient, refresh } from '../api/query-client.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { SelectField, TextArea } from '../ui/field.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { ErrorNotice, Loaded, Skeleton } from '../ui/notice.tsx'
import {
  deleteSkill,
  enableSkill,
  installSkill,
  marketplaceQuery,
  type Pair,
  removeSkill,
  runSkill,
  skillQuery,
} from './skills-api.ts'

type Installed = NonNullable<Marketplace['installed']>
type SkillRowProps = { skill: MarketplaceSkill; agents: readonly WebAgent[]; installed: Installed }
type Open = 'use' | 'file' | 'delete' | null

export function SkillRow({ skill, agents, installed }: SkillRowProps) {
  const [open, setOpen] = useState<Open>(null)
  const toggle = (part: Open) => setOpen(open === part ? null : part)
  return (
    <li className="grid grid-cols-1 gap-3 px-4 py-4">
      <div className="grid grid-cols-1 gap-1">
        <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
          <span className="min-w-0 font-medium break-words">{skill.name}</span>
          <Badge>{skill.category}</Badge>
          {skill.featured && <Badge tone="good">Featured</Badge>}
          {skill.source === 'own' && <Badge tone="warning">Yours</Badge>}
        </p>
        <p className="text-sm wrap-anywhere">{skill.description}</p>
        <p className="flex flex-wrap gap-x-3 text-sm text-muted">
          <span>Version {skill.version}</span>
          <span title={skill.checksum}>SHA-256 {skill.checksum.slice(0, 12)}…</span>
          {skill.source === 'built-in' && <span>{skill.downloads === 1 ? '1 user' : `${skill.downloads} users`}</span>}
        </p>
      </div>
      <Agents skill={skill} agents={agents} installed={installed} />
      <div className="flex flex-wrap gap-2">
        <Button aria-expanded={open === 'use'} aria-label={`Try ${skill.name}`} onClick={() => toggle('use')}>
          Try
        </Button>
        <Button aria-expanded={open === 'file'} aria-label={`View ${skill.name}`} onClick={() => toggle('file')}>
          View
        </Button>
        {skill.source === 'own' && (
          <Button aria-label={`Delete ${skill.name}`} onClick={() => toggle('delete')}>
            Delete
          </Button>
        )}
      </div>
      {open === 'use' && <UseSkill skill={skill} />}
      {open === 'file' && <SkillFile name={skill.id} />}
      {open === 'delete' && <DeleteSkillDialog skill={skill} onClose={() => setOpen(null)} />}
    </li>
  )
}

function Agents({ skill, agents, installed }: SkillRowProps) {
  const change = useMutation({
    mutationFn: (request: () => Promise<unknown>) => request(),
    onSettled: () => queryClient.invalidateQueries({ queryKey: marketplaceQuery.queryKey, exact: true }),
  })
  const others = agents.filter(({ id }) => !installed.some(({ agentId }) => agentId === id))
  const nameOf = (id: string) => agents.find((agent) => agent.id === id)?.name ?? id
  const pair = (agentId: string): Pair => ({ skillId: skill.id, agentId })
  return (
    <div className="grid grid-cols-1 gap-2">
      <ErrorNotice error={change.error} />
      {installed.map(({ agentId, enabled }) => (
        <div key={agentId} className="flex flex-wrap items-center gap-2 text-sm">
          <span className="min-w-0 break-words">{nameOf(agentId)}</span>
          {enabled ? <Badge tone="good">On</Badge> : <Badge>Off</Badge>}
          <Button
            look="ghost"
            isPending={change.isPending}
            aria-label={`Turn ${skill.name} ${enabled ? 'off' : 'on'} for ${nameOf(agentId)}`}
            onClick={() => change.mutate(() => enableSkill({ ...pair(agentId), enabled: !enabled }))}
          >
            {enabled ? 'Turn off' : 'Turn on'}
          </Button>
          <Button
            look="ghost"
            isPending={change.isPending}
            aria-label={`Remove ${skill.name} from ${nameOf(agentId)}`}
            onClick={() => change.mutate(() => removeSkill(pair(agentId)))}
          >
            Remove
          </Button>
        </div>
      ))}
      {others.length > 0 && (
        <div className="max-w-xs">
          <SelectField
            label="Install on"
            value=""
            disabled={change.isPending}
            onChange={({ currentTarget: { value } }) => value && change.mutate(() => installSkill(pair(value)))}
          >
            <option value="">Select an agent</option>
            {others.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </SelectField>
        </div>
      )}
    </div>
  )
}

function SkillFile({ name }: { name: string }) {
  const query = useQuery(skillQuery(name))
  return (
    <Loaded query={query} what="skill" placeholder={<Skeleton className="h-24" />}>
      {(skill) => (
        <pre className="wrap-anywhere rounded-md bg-sunken p-3 text-[0.8125rem] whitespace-pre-wrap">
          {skill.content}
        </pre>
      )}
    </Loaded>
  )
}

function DeleteSkillDialog({ skill, onClose }: { skill: MarketplaceSkill; onClose: () => void }) {
  return (
    <ConfirmDialog
      title={`Delete ${skill.name}?`}
      lead="Removes the skill from all your agents and permanently deletes its SKILL.md."
      verb="Delete skill"
      run={async () => {
        await deleteSkill(skill.id)
        await refresh(marketplaceQuery)
      }}
      onClose={onClose}
    />
  )
}

/** Skills with actions take JSON as described in their file. */
function UseSkill({ skill }: { skill: MarketplaceSkill }) {
  const [text, setText] = useState(skill.hasActions ? exampleOf(skill.id) : '')
  const call = useMutation({ mutationFn: (body: Record<string, unknown>) => runSkill(skill.id, body) })
  const submit = () => {
    if (!skill.hasActions) return call.mutate({ input: text })
    const body = parse(text)
    if (body !== null) call.mutate(body)
  }
  const isBroken = skill.hasActions && parse(text) === null
  return (
    <form
      className="grid grid-cols-1 gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <TextArea
        label={skill.hasActions ? 'Request (JSON)' : 'Input'}
        value={text}
        error={isBroken ? 'Invalid JSON.' : undefined}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <Button
        type="submit"
        look="primary"
        className="justify-self-start"
        isPending={call.isPending}
        disabled={isBroken}
      >
        Run
      </Button>
      <ErrorNotice error={call.error} />
      {call.data && <Answer answer={call.data} />}
    </form>
  )
}

function Answer({ answer }: { answer: Record<string, unknown> }) {
  const { output, imageUrl, prompt } = answer
  if (typeof imageUrl === 'string') {
    return <img src={imageUrl} alt={String(prompt)} className="max-h-96 w-full rounded-md border border-line" />
  }
  return (
    <pre role="status" className="wrap-anywhere rounded-md bg-sunken p-3 text-sm whitespace-pre-wrap">
      {typeof output === 'string' ? output : JSON.stringify(answer, null, 2)}
    </pre>
  )
}

/** Read-only example calls. */
const EXAMPLES: Readonly<Record<string, object>> = {
  'event-scheduler': { action: 'upcoming' },
  'venue-finder': { action: 'search', city: 'Berlin' },
  'festival-finder': { action: 'search', genre: 'techno' },
  'setlist-oracle': { action: 'build', genre: 'house', duration: 60 },
  'visual-synthesizer': { prompt: 'A lighthouse at night', aspectRatio: '16:9' },
  'booking-settlement': { action: 'simulate_settlement', booking: { guarantee: 500, backend: 200, deposit: 100 } },
  'instant-split': { action: 'simulate', streams: 100_000, rate: '0.003' },
}

function exampleOf(name: string): string {
  return JSON.stringify(EXAMPLES[name] ?? { action: 'list' }, null, 2)
}

/** Returns null for anything but an object. */
function parse(text: string): Record<string, unknown> | null {
  try {
    return z.record(z.string(), z.unknown()).nullable().catch(null).parse(JSON.parse(text))
  } catch {
    return null
  }
}
