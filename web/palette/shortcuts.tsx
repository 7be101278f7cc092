import { useId, useState } from 'react'
import { listKeyedPlaces } from '../shell/places.ts'
import { Button } from '../ui/button.tsx'
import { CheckField } from '../ui/field.tsx'
import { Modal } from '../ui/modal.tsx'
import { KeyCaps } from './entries.tsx'
import { areSingleKeysOn, controlKey, turnSingleKeys } from './keys.ts'

export function Shortcuts({ isAdmin, onClose }: { isAdmin: boolean; onClose: () => void }) {
  const id = useId()
  const [isOn, setOn] = useState(areSingleKeysOn)
  return (
    <Modal labelledBy={id} isLight onClose={onClose} className="max-w-lg">
      <div className="grid gap-5 p-5">
        <h2 id={id} className="text-lg font-semibold">
          Keyboard shortcuts
        </h2>
        <KeyList
          title="Everywhere"
          lines={[
            { keys: [controlKey, 'K'], does: 'Open the command palette' },
            { keys: ['?'], does: 'Show keyboard shortcuts' },
            { keys: ['/'], does: 'Search on this page' },
            { keys: ['Esc'], does: 'Close the dialog or menu' },
          ]}
        />
        <KeyList
          title="Go to"
          lines={listKeyedPlaces(isAdmin).map(({ key, label }) => ({ keys: ['g', key], does: label }))}
        />
        <CheckField
          label="Enable single-key shortcuts"
          hint="Turn off if you use dictation or press keys by accident. Saved on this device."
          checked={isOn}
          onChange={({ currentTarget: { checked } }) => {
            turnSingleKeys(checked)
            setOn(checked)
          }}
        />
        <Button className="justify-self-end" onClick={onClose}>
          Close
        </Button>
      </div>
    </Modal>
  )
}

type KeyListProps = { title: string; lines: readonly { keys: readonly string[]; does: string }[] }

function KeyList({ title, lines }: KeyListProps) {
  return (
    <div className="grid gap-2">
      <h3 className="text-sm font-semibold">{title}</h3>
      <dl className="grid gap-x-8 gap-y-1.5 text-sm sm:grid-cols-2">
        {lines.map(({ keys, does }) => (
          <div key={does} className="flex items-center justify-between gap-3">
            <dt className="text-muted">{does}</dt>
            <dd>
              <KeyCaps keys={keys} />
            </dd>
          </div>
        ))}
      </dl>
    </div>
  )
}
