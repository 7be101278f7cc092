import { Command } from 'cmdk'
import type { Entry } from './entries.tsx'
import { KeyCaps } from './key-caps.tsx'

type EntriesProps = { heading: string; entries: readonly Entry[]; onChoose: (entry: Entry) => void }

export function Entries({ heading, entries, onChoose }: EntriesProps) {
  return (
    <Command.Group
      heading={heading}
      className="[&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-muted"
    >
      {entries.map((entry) => (
        <Command.Item
          key={entry.id}
          value={entry.id}
          keywords={[entry.label, ...(entry.also ?? [])]}
          onSelect={() => onChoose(entry)}
          className="flex min-h-10 cursor-pointer items-center gap-3 rounded-md px-2.5 text-sm aria-selected:bg-sunken"
        >
          {entry.mark}
          <span className="min-w-0 flex-1 truncate">{entry.label}</span>
          {entry.detail && <span className="text-xs text-muted">{entry.detail}</span>}
          {entry.keys && <KeyCaps keys={entry.keys} />}
        </Command.Item>
      ))}
    </Command.Group>
  )
}
