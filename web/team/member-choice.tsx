import { useState } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { FieldMark } from '../agents/field-mark.tsx'
import { CheckField, TextField } from '../ui/field.tsx'

const MAX_MEMBERS = 10
/** Further agents are found by search. */
const MAX_SHOWN = 30

export type ChosenMember = { id: string; role: string; prompt: string }

type MemberChoiceProps = {
  agents: readonly Pick<WebAgent, 'id' | 'name'>[]
  members: readonly ChosenMember[]
  onChange: (members: ChosenMember[]) => void
}

/** Selected agents stay visible whatever is searched. */
export function MemberChoice({ agents, members, onChange }: MemberChoiceProps) {
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
        <TextField
          label="Search agents"
          value={words}
          autoComplete="off"
          onChange={({ target }) => setWords(target.value)}
        />
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
