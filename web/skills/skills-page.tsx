import { useMutation, useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import type { Marketplace, MarketplaceSkill } from '../../src/features/payments/skills/schemas.ts'
import { agentsQuery } from '../agents/agents-api.ts'
import { refresh } from '../api/query-client.ts'
import { Page } from '../shell/page.tsx'
import { Button } from '../ui/button.tsx'
import { SelectField, TextArea, TextField } from '../ui/field.tsx'
import { ErrorNotice, LoadingShapes, LoadProblem, Notice, Skeleton, SlowAnswer } from '../ui/notice.tsx'
import { Panel } from '../ui/panel.tsx'
import { SkillRow } from './skill-row.tsx'
import { createSkill, marketplaceQuery } from './skills-api.ts'

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

function matches({ id, name, description, category }: MarketplaceSkill, search: string, wanted: string): boolean {
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

const EXAMPLE = `---
name: my-skill
description: What it does, and when an agent should use it.
---

# My skill

What to do, step by step.
`

/** Uploading the same name again creates its next version. */
export function CreateSkill() {
  const [text, setText] = useState('')
  const creation = useMutation({
    mutationFn: () => createSkill(text),
    onSuccess: async () => {
      setText('')
      await refresh(marketplaceQuery)
    },
  })
  const read = async (file: File | undefined) => file && setText(await file.text())
  return (
    <form
      className="grid grid-cols-1 gap-3 px-4 pb-4"
      onSubmit={(event) => {
        event.preventDefault()
        creation.mutate()
      }}
    >
      <label className="grid grid-cols-1 gap-1.5 text-sm font-medium">
        Upload SKILL.md
        <input
          type="file"
          accept=".md,text/markdown"
          className="w-full min-w-0 text-sm font-normal text-muted file:mr-3 file:min-h-9 file:cursor-pointer file:rounded-md file:border file:border-line file:bg-surface file:px-3 file:text-sm file:font-medium file:text-ink hover:file:border-edge"
          onChange={({ currentTarget }) => void read(currentTarget.files?.[0])}
        />
      </label>
      <TextArea
        label="Or paste the text"
        value={text}
        placeholder={EXAMPLE}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <Button
        type="submit"
        look="primary"
        className="justify-self-start"
        isPending={creation.isPending}
        disabled={text.trim() === ''}
      >
        Add skill
      </Button>
      {text.trim() === '' && !creation.data && <p className="text-sm text-muted">Select a file or enter text.</p>}
      <ErrorNotice error={creation.error} />
      {creation.data && (
        <Notice tone="good">
          {creation.data.skill.name} added, version {creation.data.skill.version}.
        </Notice>
      )}
    </form>
  )
}
