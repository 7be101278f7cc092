import { Link } from '@tanstack/react-router'
import { Notice } from '../ui/notice.tsx'

/** Explains why an agent on its owner's machine has fewer actions and settings. */
export function OwnMachineNotice({ children }: { children: string }) {
  return (
    <Notice tone="note" title="This agent runs on your own machine">
      <p>
        {children}{' '}
        <Link to="/settings/machines" className="text-accent underline underline-offset-2">
          Machines
        </Link>{' '}
        shows whether it is connected.
      </p>
    </Notice>
  )
}
