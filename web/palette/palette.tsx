import { Command } from 'cmdk'
import { Search } from 'lucide-react'
import { useState } from 'react'
import { Modal } from '../ui/modal.tsx'
import { AgentEntries } from './agent-entries.tsx'
import { type Entry, usePageEntries } from './entries.tsx'
import { Entries } from './entry-list.tsx'
import { KeyCaps } from './key-caps.tsx'
import { rateEntry } from './rate-entry.ts'

type PaletteProps = { isAdmin: boolean; onClose: () => void; onShortcuts: () => void }

export function Palette({ isAdmin, onClose, onShortcuts }: PaletteProps) {
  const [words, setWords] = useState('')
  const { pages, actions } = usePageEntries(isAdmin, onShortcuts)
  const choose = ({ run }: Entry) => {
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
