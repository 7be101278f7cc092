import type { FieldChange } from '../../src/features/agents/revisions/schemas.ts'

/** Longest value that is shown in a line. */
const SHOWN_CHARACTERS = 300

/** Lists changed settings with their values before and after. */
export function ChangeList({ changes }: { changes: readonly FieldChange[] }) {
  if (changes.length === 0) return null
  return (
    <ul className="grid grid-cols-1 gap-0.5 text-sm">
      {changes.map((change) => (
        <li key={change.field} className="min-w-0 break-words text-muted">
          <span className="font-medium text-ink">{change.field}</span> {describe(change)}
        </li>
      ))}
    </ul>
  )
}

function describe({ before, after, isSecret }: FieldChange): string {
  if (after === null) return 'removed'
  if (isSecret) return after
  return before === null ? `set to ${cut(after)}` : `${cut(before)} → ${cut(after)}`
}

function cut(text: string): string {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text
}
