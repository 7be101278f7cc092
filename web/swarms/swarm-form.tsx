import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type SyntheticEvent, useState } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import type { Member, Swarm } from '../../src/features/conversations/swarms/schemas.ts'
import { agentsQuery } from '../agents/agents-api.ts'
import { FieldMark } from '../agents/field-mark.tsx'
import { Button } from '../ui/button.tsx'
import { CheckField, SelectField, TextField } from '../ui/field.tsx'
import { ErrorNotice, Loaded, LoadingShapes, Notice, Skeleton } from '../ui/notice.tsx'

type Wish = { name: string; description: string | null; agents: Member[]; summarizer: string | null }

type SwarmFormProps = {
  /** Null for a new one. */
  swarm: Swarm | null
  save: (wish: Wish) => Promise<unknown>
}

export function SwarmForm({ swarm, save }: SwarmFormProps) {
  const [name, setName] = useState(swarm?.name ?? '')
  const [description, setDescription] = useState(swarm?.description ?? '')
  const [members, setMembers] = useState(() => (swarm?.agents ?? []).map(toChosen))
  const [summarizer, setSummarizer] = useState(swarm?.summarizer ?? '')
  const [isChecked, setChecked] = useState(false)
  const saving = useMutation({
    mutationFn: () =>
      save({
        name: name.trim(),
        description: description.trim() || null,
        agents: members.map(toMember),
        summarizer: members.some(({ id }) => id === summarizer) ? summarizer : null,
      }),
  })
  const submit = (event: SyntheticEvent) => {
    event.preventDefault()
    setChecked(true)
    if (name.trim() && !saving.isPending) saving.mutate()
  }
  return (
    <form onSubmit={submit} noValidate className="grid grid-cols-1 gap-5">
      <TextField
        label="Name"
        value={name}
        maxLength={100}
        error={isChecked && !name.trim() ? 'This field is required.' : undefined}
        onChange={({ target }) => setName(target.value)}
      />
      <TextField
        label="Description"
        hint="Only for you. Agents do not see it."
        value={description}
        maxLength={2000}
        onChange={({ target }) => setDescription(target.value)}
      />
      <MembersField members={members} onMembers={setMembers} summarizer={summarizer} onSummarizer={setSummarizer} />
      <ErrorNotice title="Could not save the swarm" error={saving.error} />
      {saving.isSuccess && swarm && <Notice tone="good">Swarm saved.</Notice>}
      <Button
        type="submit"
        look={swarm ? 'plain' : 'primary'}
        className="justify-self-start"
        isPending={saving.isPending}
      >
        {swarm ? 'Save swarm' : 'Create swarm'}
      </Button>
    </form>
  )
}

type MembersFieldProps = {
  members: readonly ChosenMember[]
  onMembers: (members: ChosenMember[]) => void
  summarizer: string
  onSummarizer: (id: string) => void
}

function MembersField({ members, onMembers, summarizer, onSummarizer }: MembersFieldProps) {
  const query = useQuery(agentsQuery)
  return (
    <Loaded
      query={query}
      what="agents"
      placeholder={
        <LoadingShapes what="agents" className="grid gap-2">
          <Skeleton className="h-12" />
          <Skeleton className="h-12" />
        </LoadingShapes>
      }
    >
      {(own) =>
        own.length === 0 && members.length === 0 ? (
          <Notice tone="note">
            You have no agents yet.{' '}
            <Link to="/agents/new" className="text-accent underline underline-offset-2">
              Create an agent
            </Link>{' '}
            first.
          </Notice>
        ) : (
          <>
            <MemberChoice agents={own} members={members} onChange={onMembers} />
            <SelectField
              label="Summarizer"
              hint="Reads all answers and writes a summary."
              value={members.some(({ id }) => id === summarizer) ? summarizer : ''}
              onChange={({ target }) => onSummarizer(target.value)}
            >
              <option value="">None</option>
              {members.map(({ id }) => (
                <option key={id} value={id}>
                  {own.find((agent) => agent.id === id)?.name ?? id}
                </option>
              ))}
            </SelectField>
          </>
        )
      }
    </Loaded>
  )
}

function toChosen(member: Member): ChosenMember {
  if (typeof member === 'string') return { id: member, role: '', prompt: '' }
  return { id: member.id, role: member.role ?? '', prompt: member.prompt ?? '' }
}

/** Keeps the prompt of a member, which only the API can set. */
function toMember({ id, role, prompt }: ChosenMember): Member {
  if (!role.trim() && !prompt) return id
  return { id, ...(role.trim() && { role: role.trim() }), ...(prompt && { prompt }) }
}

const MAX_MEMBERS = 10
/** Further agents are found by search. */
const MAX_SHOWN = 30

type ChosenMember = { id: string; role: string; prompt: string }

type MemberChoiceProps = {
  agents: readonly Pick<WebAgent, 'id' | 'name'>[]
  members: readonly ChosenMember[]
  onChange: (members: ChosenMember[]) => void
}

/** Selected agents stay visible whatever is searched. */
function MemberChoice({ agents, members, onChange }: MemberChoiceProps) {
  const [words, setWords] = useState('')
  const isChosen = (id: string) => members.some((member) => member.id === id)
  const fitting = agents.filter(({ id, name }) => isChosen(id) || name.toLowerCase().includes(words.toLowerCase()))
  const shown = fitting.filter(({ id }, index) => isChosen(id) || index < MAX_SHOWN)
  const gone = members.filter(({ id }) => !agents.some((agent) => agent.id === id))
  const toggle = (id: string) =>
    onChange(isChosen(id) ? members.filter((member) => member.id !== id) : [...members, { id, role: '', prompt: '' }])
  const setRole = (id: string, role: string) =>
    onChange(members.map((member) => (member.id === id ? { ...member, role } : member)))
  return (
    <fieldset className="grid grid-cols-1 gap-3">
      <legend className="mb-2 text-sm font-medium">
        Agents <span className="font-normal text-muted tabular-nums">{`${members.length} of ${MAX_MEMBERS}`}</span>
      </legend>
      {agents.length > MAX_SHOWN && (
        <TextField label="Search agents" value={words} onChange={({ target }) => setWords(target.value)} />
      )}
      <ul className="divide-y divide-line rounded-lg border border-line">
        {[...shown, ...gone.map(({ id }) => ({ id, name: `${id} (deleted)` }))].map(({ id, name }) => (
          <li key={id} className="grid grid-cols-1 gap-2 p-3">
            <div className="flex items-center gap-3">
              <FieldMark seed={id} className="size-6" />
              <CheckField
                label={name}
                checked={isChosen(id)}
                disabled={!isChosen(id) && members.length >= MAX_MEMBERS}
                onChange={() => toggle(id)}
              />
            </div>
            {isChosen(id) && (
              <input
                aria-label={`Role of ${name}`}
                placeholder="Role, such as critic (optional)"
                maxLength={200}
                value={members.find((member) => member.id === id)?.role ?? ''}
                onChange={({ target }) => setRole(id, target.value)}
                className="min-h-9 w-full rounded-md border border-edge bg-surface px-3 text-base text-ink placeholder:text-muted sm:text-sm"
              />
            )}
          </li>
        ))}
      </ul>
      {fitting.length > shown.length && (
        <p className="text-sm text-muted">
          {(fitting.length - shown.length).toLocaleString('en')} more. Search by name.
        </p>
      )}
    </fieldset>
  )
}
