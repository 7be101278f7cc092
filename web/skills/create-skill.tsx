import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { TextArea } from '../ui/text-area.tsx'
import { createSkill, marketplaceQuery } from './skills-api.ts'

const EXAMPLE = `---
name: my-skill
description: What it does, and when an agent should use it.
---

# My skill

What to do, step by step.
`

/** Uploading the same name again creates its next version. */
export function CreateSkill() {
  const client = useQueryClient()
  const [text, setText] = useState('')
  const creation = useMutation({
    mutationFn: () => createSkill(text),
    onSuccess: async () => {
      setText('')
      await client.invalidateQueries({ queryKey: marketplaceQuery.queryKey })
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
      {creation.error !== null && <Notice tone="problem">{messageFor(creation.error)}</Notice>}
      {creation.data && (
        <Notice tone="good">
          {creation.data.skill.name} added, version {creation.data.skill.version}.
        </Notice>
      )}
    </form>
  )
}
