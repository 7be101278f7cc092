import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import type { Marketplace, Skill } from '../../src/features/payments/skills/schemas.ts'
import { messageFor } from '../api/request.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { SelectField } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { DeleteSkillDialog, SkillFile } from './skill-file.tsx'
import { enableSkill, installSkill, marketplaceQuery, type Pair, removeSkill } from './skills-api.ts'
import { UseSkill } from './use-skill.tsx'

type Installed = NonNullable<Marketplace['installed']>
type SkillRowProps = { skill: Skill; agents: readonly WebAgent[]; installed: Installed }
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
  const client = useQueryClient()
  const change = useMutation({
    mutationFn: (request: () => Promise<unknown>) => request(),
    onSettled: () => client.invalidateQueries({ queryKey: marketplaceQuery.queryKey, exact: true }),
  })
  const others = agents.filter(({ id }) => !installed.some(({ agentId }) => agentId === id))
  const nameOf = (id: string) => agents.find((agent) => agent.id === id)?.name ?? id
  const pair = (agentId: string): Pair => ({ skillId: skill.id, agentId })
  return (
    <div className="grid grid-cols-1 gap-2">
      {change.error !== null && <Notice tone="problem">{messageFor(change.error)}</Notice>}
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
