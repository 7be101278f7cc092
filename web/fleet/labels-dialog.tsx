import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FleetAgent } from '../../src/features/monitoring/fleet/schemas.ts'
import { AskDialog } from '../ui/ask-dialog.tsx'
import { TextField } from '../ui/field.tsx'
import { fleetKey, setLabels } from './fleet-api.ts'

export function LabelsDialog({ agent, onClose }: { agent: FleetAgent; onClose: () => void }) {
  const client = useQueryClient()
  const [words, setWords] = useState(agent.labels.join(', '))
  const labels = words
    .split(',')
    .map((label) => label.trim())
    .filter(Boolean)
  const saving = useMutation({
    mutationFn: () => setLabels(agent.id, labels),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: fleetKey })
      onClose()
    },
  })
  return (
    <AskDialog
      title={`Labels of ${agent.name}`}
      lead="Labels to group and filter agents by, such as a customer or a region."
      verb="Save labels"
      look="primary"
      isPending={saving.isPending}
      error={saving.error}
      onConfirm={() => saving.mutate()}
      onClose={onClose}
    >
      <TextField
        label="Labels"
        value={words}
        onChange={(event) => setWords(event.target.value)}
        autoComplete="off"
        placeholder="shop, europe"
        hint="Separated by commas, up to ten."
      />
    </AskDialog>
  )
}
