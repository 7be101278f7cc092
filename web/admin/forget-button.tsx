import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { AskDialog, focusHeading } from '../ui/ask-dialog.tsx'
import { Button } from '../ui/button.tsx'

type ForgetButtonProps = { title: string; lead: string; verb?: string; forget: () => Promise<void> }

export function ForgetButton({ title, lead, verb = 'Remove', forget }: ForgetButtonProps) {
  const [isAsking, setAsking] = useState(false)
  const { mutate, isPending, error, reset } = useMutation({ mutationFn: forget, onSuccess: () => setAsking(false) })
  const open = () => {
    reset()
    setAsking(true)
  }
  return (
    <>
      <Button look="ghost" onClick={open}>
        {verb}
      </Button>
      {isAsking && (
        <AskDialog
          title={title}
          lead={lead}
          verb={verb}
          isPending={isPending}
          error={error}
          onConfirm={() => mutate()}
          onClose={() => setAsking(false)}
          onCloseFocus={focusHeading}
        />
      )}
    </>
  )
}
