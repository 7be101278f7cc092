import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import type { Marketplace, Skill } from '../../src/features/payments/skills/schemas.ts'
import { agentsQuery } from '../agents/agents-api.ts'
import { Page } from '../shell/page.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { LoadingShapes, LoadProblem, Skeleton } from '../ui/notice.tsx'
import { Panel } from '../ui/panel.tsx'
import { SlowAnswer } from '../ui/slow-answer.tsx'
import { CreateSkill } from './create-skill.tsx'
import { SkillRow } from './skill-row.tsx'
import { marketplaceQuery } from './skills-api.ts'

/** Page `/skills`. */
export function SkillsPage() {
  const { data: market, error, refetch } = useQuery(marketplaceQuery)
  const { data: agents, error: agentsError } = useQuery(agentsQuery)
  // Late content would move the page under the pointer.
  const isLoading = !error && !(market && (agents || agentsError))
  return (
    <Page title="Skills" lead={market?.limit ? describeLimit(market.limit) : 'Skills for your agents.'}>
      {isLoading && (
        <SlowAnswer onRetry={refetch}>
          <Loading />
        </SlowAnswer>
      )}
      {!isLoading && market && <Skills market={market} agents={agents ?? []} />}
      {!market && error && <LoadProblem what="skills" error={error} onRetry={refetch} />}
      {!isLoading && (
        <Panel title="Add your own">
          <CreateSkill />
        </Panel>
      )}
    </Page>
  )
}

function describeLimit({ used, allowed }: { used: number; allowed: number | null }): string {
  if (allowed === null) return `Skills for your agents. ${used} installed.`
  if (allowed === 0) return 'Skills for your agents. Installing skills requires a plan.'
  return `${used} of ${allowed} skills of your plan installed.`
}

function Skills({ market, agents }: { market: Marketplace; agents: readonly WebAgent[] }) {
  const [search, setSearch] = useState('')
  const [category, setCategory] = useState('')
  const words = useDeferredValue(search)
  const found = market.skills.filter((skill) => matches(skill, words, category))
  return (
    <Panel title="Marketplace">
      <div className="grid grid-cols-1 gap-4 px-4 pb-4 sm:grid-cols-2">
        <TextField
          label="Search"
          type="search"
          value={search}
          placeholder="Tickets, royalties, a setlist …"
          onChange={({ currentTarget }) => setSearch(currentTarget.value)}
        />
        <SelectField
          label="Category"
          value={category}
          onChange={({ currentTarget }) => setCategory(currentTarget.value)}
        >
          <option value="">All</option>
          {market.categories.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </SelectField>
      </div>
      <p role="status" className="sr-only">
        {found.length} skills
      </p>
      {found.length === 0 && <p className="px-4 pb-4 text-sm text-muted">No skills match your search.</p>}
      <ul aria-label="Skills" className="divide-y divide-line border-t border-line">
        {found.map((skill) => (
          <SkillRow
            key={skill.id}
            skill={skill}
            agents={agents}
            installed={(market.installed ?? []).filter(({ skillId }) => skillId === skill.id)}
          />
        ))}
      </ul>
    </Panel>
  )
}

function matches({ id, name, description, category }: Skill, search: string, wanted: string): boolean {
  if (wanted !== '' && category !== wanted) return false
  const text = `${id} ${name} ${description}`.toLowerCase()
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

function Loading() {
  return (
    <LoadingShapes what="skills" className="grid gap-3">
      <Skeleton className="h-24" />
      <Skeleton className="h-24" />
    </LoadingShapes>
  )
}
